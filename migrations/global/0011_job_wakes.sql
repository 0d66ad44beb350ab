-- When each constellation has to be looked at is kept in memory: every start reads it from their files anyway.
DROP TABLE job_wakes;
