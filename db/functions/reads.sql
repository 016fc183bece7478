-- Reads by people and programs: single records and lists. A record is JSON text,
-- so that each number keeps its stored form. Members without a value are left out.

create or replace function json_time(at timestamptz) returns text
  language sql stable strict parallel safe as $$
  select to_char(at at time zone 'utc', '"\""YYYY-MM-DD"T"HH24:MI:SS.US"Z\""')
$$;

create or replace function external_ids_of_contact(ws uuid, contact uuid) returns text
  language plpgsql stable as $$
begin
  return (
    select coalesce(json_agg(json_build_object('source', e.source, 'id', e.external_id) order by e.number, e.source), '[]')
    from contact_external_id as e where e.workspace_id = ws and e.contact_id = contact
  );
end $$;

create or replace function external_ids_of_account(ws uuid, account uuid) returns text
  language plpgsql stable as $$
begin
  return (
    select coalesce(json_agg(json_build_object('source', e.source, 'id', e.external_id) order by e.source, e.external_id), '[]')
    from account_external_id as e where e.workspace_id = ws and e.account_id = account
  );
end $$;

create or replace function customer_ids_of(ws uuid, conversation uuid) returns text
  language plpgsql stable as $$
begin
  return (
    select coalesce(json_agg(o.contact_id order by o.contact_id), '[]')
    from conversation_contact as o where o.workspace_id = ws and o.conversation_id = conversation
  );
end $$;

create or replace function theme_of_conversation(ws uuid, conversation uuid) returns text
  language plpgsql stable as $$
begin
  return (
    select to_json(t.shown_id)::text from conversation as c join theme as t on t.workspace_id = c.workspace_id and t.id = c.theme_id
    where c.workspace_id = ws and c.id = conversation
  );
end $$;

-- A record as JSON text; null if it does not exist. `read_records` reads feedback.
create or replace function record_json(ws uuid, kind text, record_id uuid) returns text
  language plpgsql stable as $$
begin
  return case kind
    when 'customer' then customer_json(ws, record_id)
    when 'account' then account_json(ws, record_id)
    when 'project' then project_json(ws, record_id)
    when 'theme' then theme_json(ws, record_id)
    when 'alert' then alert_json(ws, record_id)
    when 'digest' then digest_json(ws, record_id)
    when 'feedback_category' then feedback_category_json(ws, record_id)
    when 'conversation' then conversation_json(ws, record_id)
    when 'message' then message_json(ws, record_id)
  end;
end $$;

-- The records of these kinds and ids, in their order, up to `most` bytes in total. The first
-- record always comes, even if it is larger. record: null if the record does not exist. The loop
-- builds one record at a time, since one can have megabytes, and feedback in groups, since it cannot.
create or replace function read_records(ws uuid, kinds text[], ids uuid[], most bigint)
returns table (place bigint, record text)
  language plpgsql stable
  set enable_seqscan = off
  set enable_bitmapscan = off
  set plan_cache_mode = force_generic_plan
as $$
declare
  group_size constant integer := 50;
  group_end integer := 0;
  group_ids uuid[];
  group_records text[];
  used bigint := 0;
begin
  for at in 1 .. cardinality(ids) loop
    if kinds[at] = 'feedback' and at > group_end then
      group_end := at + group_size - 1;
      select array_agg(f.record_id), array_agg(f.record) into group_ids, group_records
      from feedback_jsons(ws, ids[at : group_end]) as f;
    end if;
    place := at;
    record := case
      when kinds[at] = 'feedback' then group_records[array_position(group_ids, ids[at])]
      else record_json(ws, kinds[at], ids[at])
    end;
    used := used + coalesce(octet_length(record), 0);
    exit when place > 1 and used > most and record is not null;
    return next;
  end loop;
end $$;

-- The contact or account that an own id means now; the id itself if it was never merged.
create or replace function current_id(ws uuid, kind text, record_id uuid) returns uuid
  language plpgsql stable
  set enable_seqscan = off
  set enable_bitmapscan = off
as $$
declare
  absorber uuid;
begin
  case kind
    when 'customer' then
      select a.contact_id into absorber from contact_alias as a where a.workspace_id = ws and a.id = record_id;
    when 'account' then
      select a.account_id into absorber from account_alias as a where a.workspace_id = ws and a.id = record_id;
    else null;
  end case;
  return coalesce(absorber, record_id);
end $$;

-- The filters of a list or a count, with the ids that their customer and account mean now.
-- customerIds and accountIds: these ids, and absorbed ids whose feedback has still to move
-- (move.sql). movingIds: such ids of contacts that belong to the account now.
create or replace function current_filters(ws uuid, filters jsonb) returns jsonb
  language plpgsql stable
  set enable_seqscan = off
  set enable_bitmapscan = off
as $$
declare
  customer uuid := current_id(ws, 'customer', (filters ->> 'customerId')::uuid);
  account uuid := current_id(ws, 'account', (filters ->> 'accountId')::uuid);
begin
  return filters || jsonb_strip_nulls(jsonb_build_object(
    'customerId', customer,
    'customerIds', customer || array(
      select p.old_id from pending_move as p where p.workspace_id = ws and p.kind = 'c' and p.new_id = customer),
    'accountId', account,
    'accountIds', account || array(
      select p.old_id from pending_move as p where p.workspace_id = ws and p.kind = 'a' and p.new_id = account),
    'movingIds', array(
      select p.old_id from pending_move as p
      join contact as c on c.workspace_id = p.workspace_id and c.id = p.new_id
      where p.workspace_id = ws and p.kind = 'c' and c.account_id = account)));
end $$;

create or replace function ids_in(filters jsonb, name text) returns uuid[]
  language sql immutable as $$
  select coalesce(array_agg(e.id::uuid), '{}') from jsonb_array_elements_text(filters -> name) as e (id)
$$;

-- A list in the order of an index, as SQL: newest or oldest first, after a place, up to $6 records.
-- `scope` narrows the list by an index; `condition` says which records match. Both are SQL over `r`
-- with parameters of the caller, such as $2 for the filters. The comparison with -infinity lets the
-- query use an index with the condition `created_at is not null`. Contacts and accounts have their
-- place by `listed_at`, since a merge changes their `created_at`.
create or replace function list_query(of_table text, scope text, condition text, is_behind boolean, is_oldest_first boolean)
returns text
  language sql immutable as $$
  select format(
    'select s.*, row_number() over () as place
     from (
       select r.id, r.%6$I as listed_at, (%2$s) as is_match from %1$I as r
       where r.workspace_id = $1 and r.%6$I > ''-infinity'' and (%3$s) %4$s
       order by r.%6$I %5$s, r.id %5$s limit $6
     ) as s',
    of_table, condition, scope,
    case when is_behind then
      format('and (r.%I, r.id) %s ($3::timestamp at time zone ''utc'', $4)', t.of_time,
        case when is_oldest_first then '>' else '<' end)
    end,
    case when is_oldest_first then 'asc' else 'desc' end,
    t.of_time)
  from (select case when of_table in ('contact', 'account') then 'listed_at' else 'created_at' end as of_time) as t
$$;

-- The next matching ids of a list, at most `most`. The search looks at `most_looked` records at
-- most. is_end: the last of these, after which the list can go on. This record may not match.
create or replace function list_places(
  ws uuid, of_table text, scope text, condition text, filters jsonb, after_at text, after_id uuid, is_oldest_first boolean,
  most integer, most_looked integer
) returns table (id uuid, at text, is_match boolean, is_end boolean)
  language plpgsql stable
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_sort = off
as $$
begin
  return query execute format(
    'select l.id, (l.listed_at at time zone ''utc'')::text, l.is_match, l.place = $6
     from (%s) as l where l.is_match or l.place = $6 limit $5',
    list_query(of_table, scope, condition, after_id is not null, is_oldest_first))
  using ws, filters, after_at, after_id, most, most_looked;
end $$;

-- The same for feedback of a customer or of an account: `owner` is the condition that it belongs to
-- this one. The ids are looked up here, in the snapshot of the list. So a merge hides no feedback:
-- while feedback moves to an absorber, its list also has the feedback under absorbed ids.
--
-- Feedback without an account belongs to the account of its customer. So this merges the list of
-- each id of the account with the list of each customer, all to the same depth. The result ends
-- where the first of these lists reaches this depth. A feedback of the account and of its customer
-- is in two lists; its match comes first. For an account with more customers than a tenth of
-- `most_looked`, this walks through all feedback instead, with the condition `owner`.
create or replace function list_owned_places(
  ws uuid, owner text, scope text, condition text, filters jsonb, after_at text, after_id uuid,
  is_oldest_first boolean, most integer, most_looked integer
) returns table (id uuid, at text, is_match boolean, is_end boolean)
  language plpgsql stable
  set enable_seqscan = off
  set enable_bitmapscan = off
as $$
declare
  most_customers integer := most_looked / 10;
  asked jsonb := current_filters(ws, filters);
  is_of_customer boolean := asked ? 'customerId';
  account uuid := (asked ->> 'accountId')::uuid;
  accounts uuid[] := case when is_of_customer then '{}' else ids_in(asked, 'accountIds') end;
  customers uuid[] := case when is_of_customer then ids_in(asked, 'customerIds') else ids_in(asked, 'movingIds') || array(
    select c.id from contact as c where c.workspace_id = ws and c.account_id = account limit most_customers + 1) end;
  lists integer := cardinality(accounts) + cardinality(customers);
  -- Without a condition, most records match. Then at most 20 pages in all lists are enough, or 3
  -- records in each list.
  depth integer := greatest(case condition when 'true' then least(most, 20 * most / lists) else most_looked / lists end, 3);
begin
  if is_of_customer and lists = 1 then
    return query select p.* from list_places(
      ws, 'feedback', 'r.contact_id = ($2 ->> ''customerId'')::uuid and ' || scope, condition, asked, after_at, after_id,
      is_oldest_first, most, most_looked) as p;
    return;
  end if;
  if cardinality(customers) > most_customers then
    return query select p.* from list_places(
      ws, 'feedback', scope, owner || ' and ' || condition, asked, after_at, after_id, is_oldest_first, most, most_looked) as p;
    return;
  end if;
  return query execute format(
    'select l.id, (l.listed_at at time zone ''utc'')::text, l.is_match, l.place = $6
     from (
       select s.*, count(*) filter (where s.place = $6)
         over (order by s.listed_at %3$s, s.id %3$s, s.is_match desc rows unbounded preceding) as ends
       from (
         select s.* from unnest($7) as a (id) cross join lateral (%1$s) as s
         union all select s.* from unnest($8) as c (id) cross join lateral (%2$s) as s
       ) as s
     ) as l
     where (l.ends = 0 and l.is_match) or (l.ends = 1 and l.place = $6)
     order by l.listed_at %3$s, l.id %3$s, l.is_match desc limit $5',
    list_query('feedback', 'r.account_id = a.id and ' || scope, condition, after_id is not null, is_oldest_first),
    list_query(
      'feedback', 'r.contact_id = c.id and ' || scope,
      case when is_of_customer then condition else 'r.account_id is null and ' || condition end, after_id is not null,
      is_oldest_first),
    case when is_oldest_first then 'asc' else 'desc' end)
  using ws, asked, after_at, after_id, most, depth, accounts, customers;
end $$;
