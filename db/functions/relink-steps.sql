-- Linking anew in steps (table relink_left): so many references that a statement of its own is taken for each thousand, and others have the
-- workspace's lock in between. Nothing else is stored of the workspace before the last step, so nobody decides by links that are half
-- made; readers may see some. The steps take all references first and go on with what that changes then, as relink does.

-- A thousand take some 60 ms.
create or replace function most_relinked_at_once() returns int language sql immutable parallel safe return 1000;

create or replace function relinking_of(workspaces uuid[]) returns uuid[]
  language plpgsql stable as $$
begin
  return array(select distinct workspace_id from relink_left where workspace_id = any (workspaces));
end $$;

create or replace function leave_to_steps(ws uuid, concerned reference[], changed uuid[], lost uuid[]) returns void
  language sql as $$
  insert into relink_left (workspace_id, place, record, ids, numbers, changed, lost)
  select ws, row_number() over (), part.record, part.ids, part.numbers, changed,
    case when row_number() over () = 1 then lost else '{}' end
  from (
    select r.record, array_agg(r.id) as ids, array_agg(r.number) as numbers
    from (
      select c.record, c.id, c.number, (row_number() over (partition by c.record) - 1) / most_relinked_at_once() as part
      from unnest(concerned) as c
    ) as r
    group by r.record, r.part
  ) as part
$$;

-- One step. Returns whether any is left.
create or replace function relink_step(ws uuid) returns boolean
  language plpgsql
  set enable_seqscan = off
  set enable_bitmapscan = off
as $$
declare
  part relink_left;
  moved moved_reference[];
begin
  perform lock_workspaces(array[ws]);
  if is_deleted(ws) then return false; end if;
  select * into part from relink_left where workspace_id = ws and not is_linked order by place limit 1;
  if not found then return relink_further(ws); end if;
  moved := references_moved(ws, references_at(ws, part.record, part.ids, part.numbers), part.changed);
  perform link_moved(ws, moved);
  perform add_moved(ws, moved);
  update relink_left set
    is_linked = true, ids = '{}', numbers = '{}', lost = lost || lost_by(moved),
    now_given = to_jsonb(given_by_now(moved)), no_longer_given = to_jsonb(given_no_longer(moved))
  where workspace_id = ws and place = part.place;
  return true;
end $$;

-- What all the steps have changed.
create or replace function relink_further(ws uuid) returns boolean
  language plpgsql as $$
declare
  lost uuid[];
  now_given given_reference[];
  no_longer_given given_reference[];
  next record;
begin
  if not exists (select from relink_left where workspace_id = ws) then return false; end if;
  lost := array(select distinct unnest(r.lost) from relink_left as r where workspace_id = ws);
  now_given := array(
    select g from relink_left as r, jsonb_populate_recordset(null::given_reference, r.now_given) as g where workspace_id = ws
  );
  no_longer_given := array(
    select g from relink_left as r, jsonb_populate_recordset(null::given_reference, r.no_longer_given) as g where workspace_id = ws
  );
  delete from relink_left where workspace_id = ws;
  next := give_anew(ws, now_given, no_longer_given);
  perform relink(ws, next.changed, next.appeared, lost);
  return exists (select from relink_left where workspace_id = ws);
end $$;

-- Without what they give, as references_concerned.
create or replace function references_at(ws uuid, of_record text, ids uuid[], numbers bigint[]) returns reference[]
  language plpgsql stable as $$
begin
  return array(
    select s::reference
    from unnest(ids, numbers) as u (id, number),
      lateral (
        select * from reference where workspace_id = ws and record = of_record and id = u.id and number = u.number offset 0
      ) as r,
      lateral (
        select r.record as record, r.workspace_id as workspace_id, r.id as id, r.number as number, r.source as source,
          r.contact_id as contact_id, r.account_id as account_id, r.project_id as project_id,
          r.contact_ref - 'given' as contact_ref, r.account_ref - 'given' as account_ref, r.project_ref - 'given' as project_ref,
          r.contact_given as contact_given, r.account_given as account_given, r.project_given as project_given
      ) as s
  );
end $$;

-- All steps at once, for what cannot wait.
create or replace function relink_all_left(workspaces uuid[]) returns void
  language plpgsql as $$
declare
  ws uuid;
begin
  foreach ws in array relinking_of(workspaces) loop
    while relink_step(ws) loop end loop;
  end loop;
end $$;
