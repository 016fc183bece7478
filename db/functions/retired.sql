-- What former versions had and nothing calls any more, applied after all other files. What the version before calls from
-- TypeScript, and what those functions call themselves, stays until that version is gone.
--
-- A list, and not whatever stands in no file: a schema may hold functions that are not ours, such as those of an extension.

-- Whoever is storing finishes with the functions with which it began, and whoever comes waits for a moment: a function that lost
-- one that it calls while it ran would fail. It is a lock for each workspace, of which Postgres has some thousands
-- (max_locks_per_transaction).
select lock_workspaces(array(select id from workspace));

drop function if exists store_tags(uuid, jsonb);
drop function if exists text_number(conversation);
drop function if exists store_feedback(uuid, feedback[]);
drop function if exists answer_feedback(uuid, feedback[]);
drop function if exists answer_feedback(uuid, said_feedback[]);
drop function if exists keep_superseded(uuid, feedback[], answered_feedback[]);
drop function if exists resolve_feedback(uuid, said_feedback[]);
drop function if exists add_to_contacts(uuid, contact[]);
drop function if exists add_to_accounts(uuid, account[]);
drop function if exists given_of(jsonb, bigint);
drop type if exists resolved_feedback;
-- Release 0.2 still calls it now and then, and would end replays that this version has put on the books; its upkeep logs a failure.
drop function if exists give_up_replay(uuid, uuid, interval);
