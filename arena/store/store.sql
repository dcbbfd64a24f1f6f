-- Facts are appended and never changed; what is derived from them says so, and can be replaced.
-- A change of these tables raises SCHEMA_VERSION in database.py and adds a step to upgrade.py.

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
    stored TIMESTAMP NOT NULL,     -- UTC, as every time here
    row_sets VARCHAR               -- JSON: the names of usages from 3 on; null: there are none
);

CREATE TABLE solution_rows (
    solution INTEGER NOT NULL,
    position INTEGER NOT NULL,
    id VARCHAR NOT NULL,
    usage USMALLINT NOT NULL,
    cluster BIGINT,
    task VARCHAR                   -- where a competition has several
);

CREATE TABLE labels (
    solution INTEGER NOT NULL,
    target INTEGER NOT NULL,
    position INTEGER NOT NULL,
    value DOUBLE NOT NULL          -- labels and texts as codes
);

-- Numbers that a metric reads beside the targets.
CREATE TABLE solution_extra (
    solution INTEGER NOT NULL,
    name VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    value DOUBLE NOT NULL
);

-- The probability of each class of each row, as annotators see it; of two classes perhaps the
-- positive one's only.
CREATE TABLE solution_soft_labels (
    solution INTEGER NOT NULL,
    class INTEGER NOT NULL,        -- from 0; a single one is the positive
    position INTEGER NOT NULL,
    value DOUBLE NOT NULL
);

-- What stands in cells where texts are predicted. The codes of a submission, or of a target of a
-- solution, follow one another: a text is stored once for each that has it.
CREATE TABLE texts (
    code BIGINT NOT NULL,
    text VARCHAR NOT NULL
);

CREATE TABLE submissions (
    submission INTEGER PRIMARY KEY,
    team VARCHAR NOT NULL,
    file VARCHAR NOT NULL,
    sha256 VARCHAR NOT NULL,
    key VARCHAR,                   -- the same key of a team and phase again is the same
                                   -- submission; null: refused, and may be sent again
    status VARCHAR NOT NULL CHECK (status IN ('accepted', 'rejected', 'refused')),
    received TIMESTAMP NOT NULL,
    faults VARCHAR NOT NULL,       -- JSON
    late BOOLEAN NOT NULL,         -- after the deadline: listed apart, never ranked
    phase VARCHAR NOT NULL DEFAULT '', -- '' where a competition has no named phases
    UNIQUE (team, phase, key)
);

-- Appended submission by submission, the cells of each row of the solution together: the rowids of
-- a submission follow one another in this order. A column with the positions would double the time
-- of writing. No index: row groups outside the submissions asked for are skipped by their bounds.
CREATE TABLE predictions (
    submission INTEGER USING COMPRESSION RLE NOT NULL,
    value DOUBLE NOT NULL          -- labels and texts as codes
);

-- The object that holds the predictions of a submission, where they are kept outside the database.
CREATE TABLE objects (
    submission INTEGER NOT NULL,
    name VARCHAR NOT NULL          -- the SHA-256 of its content
);

-- How many places of a limit a team has used: of a day, of a week, or in total.
CREATE TABLE places (
    team VARCHAR NOT NULL,
    day VARCHAR NOT NULL,          -- ISO date in UTC, ISO week such as 2026-W49, or 'total';
                                   -- after the name of a phase and '/', where there are phases
    used INTEGER NOT NULL,
    PRIMARY KEY (team, day)
);

-- What the public board showed. A new epoch starts when the board is released again.
CREATE TABLE releases (
    release INTEGER PRIMARY KEY,
    submission INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    instance VARCHAR NOT NULL,     -- of the mechanism: a team, or a rank of the board
    score DOUBLE NOT NULL,
    ranked_by DOUBLE,
    improved BOOLEAN NOT NULL,
    state VARCHAR NOT NULL,        -- JSON: what the next release of the instance starts from
    released TIMESTAMP NOT NULL,
    source INTEGER NOT NULL,       -- the submission whose score it is
    UNIQUE (epoch, submission)
);

-- The private boards that were published, each as it was.
CREATE TABLE results (
    version INTEGER PRIMARY KEY,
    document VARCHAR NOT NULL,     -- JSON
    published TIMESTAMP NOT NULL
);

-- Derived: full-precision scores; a rescore is the next revision.
CREATE TABLE scores (
    revision INTEGER NOT NULL,
    submission INTEGER NOT NULL,
    public_score DOUBLE,
    private_score DOUBLE,
    PRIMARY KEY (revision, submission)
);

-- Everything that happened, each event with a hash over its predecessor; see events.py.
CREATE TABLE events (
    sequence INTEGER PRIMARY KEY,
    time TIMESTAMP NOT NULL,
    actor VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    payload VARCHAR NOT NULL,      -- canonical JSON; its "facts" are digests, see facts.py
    previous VARCHAR NOT NULL,
    hash VARCHAR NOT NULL,
    submission INTEGER             -- that the payload names, if any: to find its events
);

-- Derived from the tables above, so that no command reads the whole history; see derived.py.

-- DuckDB looks rows up by indexes of a single column only: not by UNIQUE (team, phase, key).
CREATE INDEX IF NOT EXISTS submissions_key ON submissions (key);
CREATE INDEX IF NOT EXISTS places_team ON places (team);

CREATE TABLE team_counts (
    phase VARCHAR NOT NULL,
    team VARCHAR NOT NULL,
    sent INTEGER NOT NULL,         -- submissions of any status
    accepted INTEGER NOT NULL,
    PRIMARY KEY (phase, team)
);

-- The best release of each team in each phase, disqualified or not, for either direction of the
-- metric; the earlier one if tied. rank_value is what the board ranks by.
CREATE TABLE standings (
    epoch INTEGER NOT NULL,
    phase VARCHAR NOT NULL,
    team VARCHAR NOT NULL,
    highest STRUCT(rank_value DOUBLE, minus_submission INTEGER, score DOUBLE) NOT NULL,
    lowest STRUCT(rank_value DOUBLE, submission INTEGER, score DOUBLE) NOT NULL,
    PRIMARY KEY (epoch, phase, team)
);

-- The teams on a board that has an instance of the mechanism for each rank; see holders.py.
CREATE TABLE holders (
    epoch INTEGER NOT NULL,
    position INTEGER NOT NULL,     -- of the rank, from 0
    team VARCHAR NOT NULL,
    state VARCHAR NOT NULL,        -- JSON: what the team's last release left
    mark DOUBLE NOT NULL,          -- the score that the rank was last improved to
    submission INTEGER NOT NULL    -- that improved it
);

-- The last release of each instance of the mechanism.
CREATE TABLE instances (
    epoch INTEGER NOT NULL,
    instance VARCHAR NOT NULL,
    release INTEGER NOT NULL,
    PRIMARY KEY (epoch, instance)
);
