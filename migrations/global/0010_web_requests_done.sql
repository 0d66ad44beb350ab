-- That a request was answered follows from its answer, which is kept in memory.
ALTER TABLE web_requests DROP COLUMN done;
