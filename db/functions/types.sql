-- What functions hand to each other. A type is made where it is missing, and its shape is never changed under its name:
-- another shape has another name. Values are made by name, `(select … as id, … as given) as t` and then `t::type`, with the
-- columns in the order of the type.
do $$
begin
  -- Whom a reference means.
  if to_regtype('resolution') is null then
    create type resolution as (
      id uuid,       -- whom it means, if anybody
      given boolean, -- decided by what find-or-create gave: then what was given counts as said about that contact or account
      missed uuid[]  -- ids that meant nobody at n
    );
  end if;

  -- One slot of one reference whose find-or-create part holds.
  if to_regtype('given_reference') is null then
    create type given_reference as (kind text, weak uuid, name_key uuid, number bigint);
  end if;

  -- A key, an own id or a number, of a workspace.
  if to_regtype('workspace_key') is null then
    create type workspace_key as (workspace_id uuid, id uuid);
  end if;
  if to_regtype('workspace_number') is null then
    create type workspace_number as (workspace_id uuid, number bigint);
  end if;

  -- What one workspace has in a batch at one place.
  if to_regtype('workspace_part') is null then
    create type workspace_part as (workspace_id uuid, part jsonb);
  end if;

  -- A given_reference of a workspace.
  if to_regtype('new_given') is null then
    create type new_given as (workspace_id uuid, kind text, weak uuid, name_key uuid, number bigint);
  end if;

  -- A claim on a weak key, with the kind of the key, which may be new.
  if to_regtype('new_claim') is null then
    create type new_claim as (
      workspace_id uuid, key_id uuid, kind text, number bigint, target_id uuid, link boolean, decides boolean
    );
  end if;

  -- What is said about one contact or account.
  if to_regtype('new_contact') is null then
    create type new_contact as (
      workspace_id uuid, id uuid, facts jsonb, account_id uuid, account_number bigint, first_number bigint, last_identify_number bigint
    );
  end if;
  if to_regtype('new_account') is null then
    create type new_account as (workspace_id uuid, id uuid, facts jsonb, first_number bigint, last_identify_number bigint);
  end if;

  -- How many records more or fewer carry a tag.
  if to_regtype('new_uses') is null then
    create type new_uses as (workspace_id uuid, title text, uses bigint);
  end if;

  -- A feedback as a worker says it. Columns that are null need not be there: parsing a batch cost 11 us a feedback, now 7.
  if to_regtype('incoming_feedback') is null then
    create type incoming_feedback as (
      workspace_id uuid,
      id uuid,
      description text,
      title text,
      is_transcript boolean,
      tags text[],
      rating double precision,
      source text,
      source_id text,
      source_data jsonb,
      source_created_at timestamptz,
      number bigint,
      contact_ref jsonb,
      account_ref jsonb,
      project_ref jsonb
    );
  end if;

  -- What the references of a feedback come to, and whether the submission stands for the record (wins), another stood for it
  -- before (replaces).
  if to_regtype('answered_feedback') is null then
    create type answered_feedback as (
      wins boolean, replaces boolean,
      contact uuid, account uuid, project uuid, by_contact boolean, by_account boolean, by_project boolean,
      missed uuid[]
    );
  end if;

  -- record: the feedback or conversation that the submission is about.
  if to_regtype('new_submission') is null then
    create type new_submission as (workspace_id uuid, id uuid, number bigint, operation text, attempts integer, record uuid);
  end if;

  -- A reference that means somebody else than before, or by something else: whom it means now; who lost what it gives, and
  -- which of those it means gain it. What names no id misses none (null).
  if to_regtype('moved_reference') is null then
    create type moved_reference as (
      record text,
      id uuid,
      number bigint,
      contact uuid,
      account uuid,
      project uuid,
      contact_given boolean,
      account_given boolean,
      project_given boolean,
      missed uuid[],
      lost uuid[],
      contact_gains boolean,
      account_gains boolean,
      project_gains boolean,
      now_given given_reference[],
      no_longer_given given_reference[]
    );
  end if;

  -- A purge as it was asked for, its identifiers as keys: "group" is an external id in whatever source.
  if to_regtype('wanted_purge') is null then
    create type wanted_purge as (id uuid, number bigint, "group" uuid, email uuid, source text);
  end if;

  -- A record that a tagger has read: its tags, and its share.
  if to_regtype('tagged_record') is null then
    create type tagged_record as (
      record text,
      id uuid,
      number bigint,
      text_version text,
      tags text[],
      judged boolean,
      given int,
      hashes bigint[],
      traits int[],
      tag_hashes bigint[],
      titles text[]
    );
  end if;
end $$;
