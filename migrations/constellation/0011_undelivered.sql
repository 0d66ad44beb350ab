-- The outbox grows for ever; what could not be delivered is counted and listed for the owner.
CREATE INDEX outbox_undelivered ON outbox (id) WHERE status IN ('failed', 'unknown');
CREATE INDEX outbox_held ON outbox (turn_id, id) WHERE status = 'withdrawn' AND turn_id IS NOT NULL;
