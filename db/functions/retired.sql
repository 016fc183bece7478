-- What former versions had and nothing calls any more, dropped when whatever began with it has ended (db/functions.ts). What the version
-- before calls from TypeScript stays until that version is gone.
--
-- A list, and not whatever stands in no file: a schema may hold functions that are not ours, such as those of an extension.

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
drop aggregate if exists all_facts(jsonb);
drop function if exists concerned_references(uuid, uuid[], uuid[]);
drop function if exists moved_references(uuid, reference[], uuid[]);
drop function if exists restore_links(uuid, uuid[], uuid[]);
drop function if exists restore_links(uuid, uuid[], uuid[], new_claim[]);
drop function if exists link_anew(uuid, relinked[]);
drop type if exists relinked;
drop function if exists remember_unresolved(uuid, uuid, bigint, uuid[]);
drop type if exists resolved_feedback;
-- Release 0.2 still calls it now and then, and would end replays that this version has put on the books; its upkeep logs a failure.
drop function if exists give_up_replay(uuid, uuid, interval);
drop function if exists store_part(uuid, jsonb);
drop function if exists is_fenced(uuid, uuid[]);
drop function if exists said_in(jsonb);
drop function if exists former_states(uuid, said_submission[]);
drop function if exists keys_in(jsonb, bigint[]);
drop function if exists claims_in(jsonb, bigint[]);
drop function if exists feedback_in(jsonb, bigint[]);
drop function if exists derive(uuid, uuid[], uuid[], uuid[]);
drop function if exists settle(uuid, said_submission[], bigint[], bigint[], boolean);
drop function if exists states_of(uuid, said_submission[], bigint[], bigint[]);
drop function if exists store_identities(uuid, identity_key[], said_claim[]);
drop function if exists add_identified(uuid, identity_key[]);
drop function if exists store_keys(uuid, identity_key[]);
drop function if exists store_claims(uuid, said_claim[]);
drop function if exists store_links(uuid, given_reference[]);
drop function if exists store_feedback(uuid, said_feedback[]);
drop function if exists given_by_feedback(uuid, said_feedback[]);
drop function if exists resolve_references(uuid, said_feedback[]);
drop function if exists add_feedback(uuid, said_feedback[], answered_feedback[]);
drop function if exists replace_feedback(uuid, said_feedback[], answered_feedback[]);
drop function if exists keep_superseded(uuid, said_feedback[], answered_feedback[]);
drop function if exists add_to_projects(uuid, said_feedback[], answered_feedback[]);
drop function if exists remember_missed(uuid, said_feedback[], answered_feedback[]);
drop function if exists add_to_contacts(uuid, said_contact[]);
drop function if exists add_to_accounts(uuid, said_account[]);
drop function if exists merge_into_contacts(uuid, said_contact[]);
drop function if exists merge_into_accounts(uuid, said_account[]);
drop function if exists idempotency_in(jsonb, bigint[]);
drop function if exists store_idempotency_keys(uuid, jsonb, bigint[]);
drop type if exists said_submission;
drop type if exists said_feedback;
drop type if exists said_claim;
drop type if exists said_contact;
drop type if exists said_account;
