-- What asks whether something inferred may be used repeats it: it goes with the entry, also when its words are taken back.

CREATE TRIGGER preference_card_gone AFTER DELETE ON archival_entries BEGIN
    UPDATE outbox SET content = '', status = iif(status = 'pending', 'withdrawn', status)
        WHERE key IN ('preference/' || old.id, 'preference/' || old.id || '/shown');
END;
