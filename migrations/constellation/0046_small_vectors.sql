-- Vectors are bytes now and no longer floats: all are made anew, in the background.
DELETE FROM vectors;
DELETE FROM vector_models;
