-- The messages that a turn began with, each with its revision: most turns need no step for them.
ALTER TABLE turns ADD COLUMN heard TEXT NOT NULL DEFAULT '[]';

-- A turn that is over keeps no steps.
CREATE TRIGGER turns_drop_steps AFTER UPDATE OF status ON turns WHEN new.status NOT IN ('running', 'suspended') BEGIN
    DELETE FROM turn_steps WHERE turn_id = new.id;
END;
