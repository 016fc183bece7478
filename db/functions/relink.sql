-- Linking anew: which stored references mean somebody else, now that keys answer differently.

-- Decides anew every reference that the changed keys can concern, until nothing moves any more: what a reference means
-- depends only on what is older than it, so this ends. Whoever gains something given gets it added; what is known about those who lost
-- something is gathered anew. More than a thousand references are left to statements of their own (relink_left).
create or replace function relink(ws uuid, changed uuid[], appeared uuid[], lost uuid[]) returns void
  language plpgsql as $$
declare
  concerned reference[];
  linked int := 0;
  moved moved_reference[];
  next record;
begin
  while cardinality(changed) > 0 or cardinality(appeared) > 0 loop
    concerned := array(select r from references_concerned(ws, changed, appeared) as r);
    linked := linked + cardinality(concerned);
    if linked > most_relinked_at_once() then
      perform leave_to_steps(ws, concerned, changed, lost);
      return;
    end if;
    moved := references_moved(ws, concerned, changed);
    exit when cardinality(moved) = 0;
    perform link_moved(ws, moved);
    perform add_moved(ws, moved);
    lost := lost || lost_by(moved);
    next := give_anew(ws, given_by_now(moved), given_no_longer(moved));
    changed := next.changed;
    appeared := next.appeared;
  end loop;
  if cardinality(lost) > 0 then
    perform gather(ws, array(select unnest(lost) except select unnest(contact_ids) from purge where workspace_id = ws));
  end if;
end $$;

create or replace function lost_by(moved moved_reference[]) returns uuid[]
  language sql immutable as $$
  select array(select distinct l.id from unnest(moved) as m, unnest(m.lost) as l (id))
$$;

create or replace function given_by_now(moved moved_reference[]) returns given_reference[]
  language sql immutable as $$
  select array(select g from unnest(moved) as m, unnest(m.now_given) as g)
$$;

create or replace function given_no_longer(moved moved_reference[]) returns given_reference[]
  language sql immutable as $$
  select array(select g from unnest(moved) as m, unnest(m.no_longer_given) as g)
$$;

-- What references give now and what they do not give any more, once all of them are linked; and which keys that changes.
create or replace function give_anew(
  ws uuid, now_given given_reference[], no_longer_given given_reference[], out changed uuid[], out appeared uuid[])
  language plpgsql as $$
declare
  said record := store_given(ws, now_given);
  -- store_given takes it that nothing is stored with higher numbers than those of former batches. Here this batch is.
  names uuid[] := array(select distinct g.name_key from unnest(now_given) as g where g.name_key is not null);
begin
  if cardinality(names) > 0 then
    perform restore_links(ws, names, reach(ws, names), '{}'::new_given[]);
  end if;
  changed := said.changed || names || withdraw_given(ws, no_longer_given);
  appeared := said.appeared;
end $$;

-- References that the changed keys can concern, and those that remember what has appeared; without what they give, which can be
-- more than fits into one array.
create or replace function references_concerned(ws uuid, changed uuid[], appeared uuid[]) returns setof reference
  language plpgsql stable as $$
declare
  subjects uuid[] := '{}';
  changed_text text[] := changed::text[];
begin
  if cardinality(changed) > 0 then
    subjects := coalesce(reach(ws, changed), '{}');
  end if;
  return query
  select distinct on (r.record, r.id, r.number) r.record, r.workspace_id, r.id, r.number, r.source, r.contact_id, r.account_id, r.project_id,
    r.contact_ref - 'given', r.account_ref - 'given', r.project_ref - 'given', r.contact_given, r.account_given, r.project_given
  from (
    select * from references_to(ws, 'contact', subjects) where mentions(contact_ref, changed_text)
    union all
    select * from references_to(ws, 'account', subjects) where mentions(account_ref, changed_text)
    union all
    select * from references_to(ws, 'project', subjects) where mentions(project_ref, changed_text)
    union all
    select r.* from unnest(changed || appeared) as a (id),
      lateral (
        select record_id, number from unresolved_reference where workspace_id = ws and ref_id = a.id offset 0
      ) as u,
      lateral (
        select * from reference where workspace_id = ws and id = u.record_id and number = u.number offset 0
      ) as r
  ) as r
  order by r.record, r.id, r.number;
end $$;

-- Every contact, account or project that the given keys, groups and own ids can have meant at any number.
create or replace function reach(ws uuid, ids uuid[]) returns uuid[]
  language plpgsql stable as $$
begin
  return (
    with recursive step (id) as (
      select unnest(ids)
      union
      select further.id
      from step
      cross join lateral (
        select k.id from identity_key as k where k.workspace_id is not distinct from ws and k.group_id = step.id
        union all
        select k.group_id from identity_key as k where k.workspace_id = ws and k.id = step.id and k.kind = 'contact_bare'
        union all
        select c.target_id from identity_claim as c where c.workspace_id = ws and c.key_id = step.id
        offset 0
      ) as further
    )
    select array_agg(id) from step
  );
end $$;

-- What is said about the given contacts, accounts or projects.
create or replace function references_to(ws uuid, slot text, subjects uuid[]) returns setof reference
  language plpgsql stable as $$
begin
  if slot = 'contact' then
    return query select r.* from unnest(subjects) as s (id),
      lateral (select * from reference where workspace_id is not distinct from ws and contact_id = s.id offset 0) as r;
  elsif slot = 'account' then
    return query select r.* from unnest(subjects) as s (id),
      lateral (select * from reference where workspace_id is not distinct from ws and account_id = s.id offset 0) as r;
  else
    return query select r.* from unnest(subjects) as s (id),
      lateral (select * from reference where workspace_id is not distinct from ws and project_id = s.id offset 0) as r;
  end if;
end $$;

create or replace function mentions(ref jsonb, ids text[]) returns boolean
  language sql immutable as $$
  select coalesce(
    ref -> 'ids' ?| ids or ref ->> 'weak' = any (ids) or ref ->> 'preferred' = any (ids),
    false
  )
$$;

-- Those of the references that mean somebody else now, or mean them by something else.
create or replace function references_moved(ws uuid, concerned reference[], changed uuid[]) returns moved_reference[]
  language plpgsql stable as $$
declare
  -- Contacts whose purge is under way: what is theirs stays marked as theirs until it is gone.
  ended uuid[] := array(select unnest(contact_ids) from purge where workspace_id = ws);
  with_ids reference[];
  without_ids reference[];
begin
  select array_agg(r) filter (where has_ids), array_agg(r) filter (where not has_ids) into with_ids, without_ids
  from unnest(concerned) as r,
    lateral (select coalesce(r.contact_ref ? 'ids' or r.account_ref ? 'ids' or r.project_ref ? 'ids', false) as has_ids) as h;
  return moved_by_ids(ws, with_ids, ended) || moved_by_weak(ws, without_ids, changed::text[], ended);
end $$;

-- Of references that name no id. Only keys that have changed are asked, and nothing is called for it: three calls of resolve for each
-- took most of the time. What find-or-create gave always holds here, and nobody claims a project.
create or replace function moved_by_weak(ws uuid, concerned reference[], changed text[], ended uuid[]) returns moved_reference[]
  language plpgsql stable as $$
begin
  return array(
    select m::moved_reference
    from (
      select u.*,
        case when mentions(u.contact_ref, changed) and not coalesce(u.contact_id = any (ended), false)
          then (u.contact_ref ->> 'weak')::uuid end as contact_key,
        case when mentions(u.account_ref, changed) then (u.account_ref ->> 'weak')::uuid end as account_key
      from unnest(concerned) as u
      offset 0
    ) as r,
      lateral (select w.id from weak_subject(ws, r.contact_key, r.number) as w (id) offset 0) as c,
      lateral (select w.id from weak_subject(ws, r.account_key, r.number) as w (id) offset 0) as a,
      lateral (
        select r.contact_key is not null and c.id is distinct from r.contact_id as contact,
          r.account_key is not null and a.id is distinct from r.account_id as account
      ) as moves,
      lateral (
        select r.record as record, r.id as id, r.number as number,
          case when moves.contact then c.id else r.contact_id end as contact,
          case when moves.account then a.id else r.account_id end as account, r.project_id as project,
          r.contact_given as contact_given, r.account_given as account_given, r.project_given as project_given,
          null::uuid[] as missed,
          case when moves.contact then array[r.contact_id] else '{}' end || case when moves.account then array[r.account_id] else '{}' end
            as lost,
          moves.contact as contact_gains, moves.account as account_gains, false as project_gains,
          null::given_reference[] as now_given, null::given_reference[] as no_longer_given
      ) as m
    where moves.contact or moves.account
  );
end $$;

create or replace function moved_by_ids(ws uuid, concerned reference[], ended uuid[]) returns moved_reference[]
  language plpgsql stable as $$
begin
  return array(
    select m::moved_reference
    from unnest(concerned) as r,
      resolve_unless_ended(ws, r, ended) as c,
      resolve(ws, 'account', r.account_ref, r.number, r.source) as a,
      resolve(ws, 'project', r.project_ref, r.number, r.source) as p,
      given_in(r.contact_ref, r.number) as by_contact,
      given_in(r.account_ref, r.number) as by_account,
      given_in(r.project_ref, r.number) as by_project,
      lateral (
        select (c.id, c.given) is distinct from (r.contact_id, r.contact_given) as contact,
          (a.id, a.given) is distinct from (r.account_id, r.account_given) as account,
          (p.id, p.given) is distinct from (r.project_id, r.project_given) as project
      ) as moves,
      lateral (
        select r.record as record, r.id as id, r.number as number, c.id as contact, a.id as account, p.id as project,
          c.given as contact_given, a.given as account_given, p.given as project_given,
          c.missed || a.missed || p.missed as missed,
          array_remove(array[
            case when moves.contact and r.contact_given then r.contact_id end,
            case when moves.account and r.account_given then r.account_id end,
            case when moves.project and r.project_given then r.project_id end], null) as lost,
          moves.contact and c.given as contact_gains, moves.account and a.given as account_gains,
          moves.project and p.given as project_gains,
          array_remove(array[
            case when c.given and not r.contact_given then by_contact end,
            case when a.given and not r.account_given then by_account end,
            case when p.given and not r.project_given then by_project end], null) as now_given,
          array_remove(array[
            case when r.contact_given and not c.given then by_contact end,
            case when r.account_given and not a.given then by_account end,
            case when r.project_given and not p.given then by_project end], null) as no_longer_given
      ) as m
    where moves.contact or moves.account or moves.project
  );
end $$;

create or replace function resolve_unless_ended(ws uuid, r reference, ended uuid[]) returns resolution
  language plpgsql stable as $$
declare
  result resolution;
begin
  if r.contact_id = any (ended) then
    result.id := r.contact_id;
    result.given := r.contact_given;
    result.missed := '{}';
    return result;
  end if;
  return resolve(ws, 'contact', r.contact_ref, r.number, r.source);
end $$;

create or replace function link_moved(ws uuid, moved moved_reference[]) returns void
  language plpgsql as $$
begin
  update feedback as f
  set contact_id = m.contact, account_id = m.account, project_id = m.project,
    contact_given = m.contact_given, account_given = m.account_given, project_given = m.project_given
  from unnest(moved) as m,
    lateral (select ctid as place from feedback where workspace_id = ws and id = m.id offset 0) as held
  where m.record = 'feedback' and f.workspace_id is not distinct from ws and f.ctid = held.place;
  update superseded_reference as f
  set contact_id = m.contact, account_id = m.account, project_id = m.project,
    contact_given = m.contact_given, account_given = m.account_given, project_given = m.project_given
  from unnest(moved) as m,
    lateral (
      select ctid as place from superseded_reference where workspace_id = ws and id = m.id and number = m.number offset 0
    ) as held
  where m.record = 'superseded' and f.workspace_id is not distinct from ws and f.ctid = held.place;
  perform remove_before(ws, '{}', array(
    select distinct t.conversation_id
    from unnest(moved) as m, lateral (select conversation_id from message where workspace_id = ws and id = m.id offset 0) as t
    where m.record = 'message'
  ));
  update message as f set contact_id = m.contact
  from unnest(moved) as m, lateral (select ctid as place from message where workspace_id = ws and id = m.id offset 0) as held
  where m.record = 'message' and f.workspace_id is not distinct from ws and f.ctid = held.place;
  perform remember_of_moved(ws, moved);
end $$;

-- By their records alone: a connection that had planned this while the table was empty went through all that its workspace has in the
-- primary key, until the table was analyzed. What names no id remembers none.
create or replace function remember_of_moved(ws uuid, moved moved_reference[]) returns void
  language plpgsql as $$
begin
  delete from unresolved_reference where workspace_id is not distinct from ws and ctid = any (array(
    select u.ctid from unnest(moved) as m,
      lateral (
        select ctid, ref_id from unresolved_reference where workspace_id is not distinct from ws and record_id = m.id and number = m.number offset 0
      ) as u
    where m.missed is not null and u.ref_id <> all (m.missed)
  ));
  insert into unresolved_reference (workspace_id, ref_id, record_id, number)
  select ws, u.ref_id, m.id, m.number from unnest(moved) as m, unnest(m.missed) as u (ref_id)
  on conflict do nothing;
end $$;
