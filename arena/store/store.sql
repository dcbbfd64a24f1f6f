-- Facts are appended and never changed; everything else is derived from them.
-- A change of these tables raises SCHEMA_VERSION in database.py.

CREATE TABLE meta (
    name VARCHAR PRIMARY KEY,
    value VARCHAR NOT NULL
);

-- The labels of a competition. A corrected solution becomes the next number, beside the first.
CREATE TABLE solutions (
    solution INTEGER PRIMARY KEY,
    sha256 VARCHAR NOT NULL,       -- of the file
    fingerprint VARCHAR NOT NULL,  -- of the content
    id_column VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    columns VARCHAR NOT NULL,      -- JSON: list of names
    targets VARCHAR NOT NULL,      -- JSON: list of [name, classes or null]
    n_rows INTEGER NOT NULL,
    has_clusters BOOLEAN NOT NULL,
    metric VARCHAR,                -- as it was asked for
    stored TIMESTAMP NOT NULL      -- UTC, as every time here
);

CREATE TABLE solution_rows (
    solution INTEGER NOT NULL,
    position INTEGER NOT NULL,
    id VARCHAR NOT NULL,
    usage UTINYINT NOT NULL,
    cluster BIGINT
);

CREATE TABLE truth (
    solution INTEGER NOT NULL,
    target INTEGER NOT NULL,
    position INTEGER NOT NULL,
    value DOUBLE NOT NULL          -- labels as codes
);

CREATE TABLE submissions (
    submission INTEGER PRIMARY KEY,
    team VARCHAR NOT NULL,
    file VARCHAR NOT NULL,
    sha256 VARCHAR NOT NULL,
    key VARCHAR NOT NULL,          -- the same key of a team again is the same submission
    status VARCHAR NOT NULL CHECK (status IN ('accepted', 'rejected')),
    received TIMESTAMP NOT NULL,
    faults VARCHAR NOT NULL,       -- JSON
    UNIQUE (team, key)
);

-- position = row * n_columns + column. Appended submission by submission, in the order of position;
-- no index: row groups outside the submissions asked for are skipped by their bounds.
CREATE TABLE predictions (
    submission INTEGER NOT NULL,
    position INTEGER NOT NULL,
    value DOUBLE NOT NULL          -- labels as codes
);
