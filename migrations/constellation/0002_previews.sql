-- The outbox grows for ever; what is left of previews is looked for after every answer.
CREATE INDEX outbox_previews ON outbox (place_id, id) WHERE kind = 'preview' AND status IN ('sending', 'sent');
