-- What people said, by person: who talked to the agents is counted from the index alone.
CREATE INDEX messages_said ON messages (person_id, created_at, audience) WHERE role = 'user' AND deleted_at IS NULL;
