-- Words are not compared one by one any more.
ALTER TABLE vectors DROP COLUMN tokens;
