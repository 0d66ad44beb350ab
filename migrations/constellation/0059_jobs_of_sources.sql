-- The checks of a source are named like it, so that people can tell them apart.
UPDATE jobs SET id = 'source:' || (SELECT name FROM data_sources s WHERE jobs.id = 'source:' || s.id)
WHERE EXISTS (SELECT 1 FROM data_sources s WHERE jobs.id = 'source:' || s.id);
