-- How a search reads the index (search-index.sql).

-- The blocks in the order of a list, with the earliest or latest time of each. Parameters of the
-- query: $1 the workspace, $2 filters, $3 and $4 the place after which the list goes on.
create or replace function search_blocks_query(is_oldest_first boolean) returns text
  language sql immutable as $$
  select format(
    'select array_agg(p.block order by p.%1$I %2$s), array_agg(p.%1$I order by p.%1$I %2$s)
     from search_span as p
     where p.workspace_id = $1 and p.block < 1048576 and ($3 is null or p.%3$I %4$s ($3::timestamp at time zone ''utc''))
       and ($2 ->> ''createdFrom'' is null or p.greatest_at >= ($2 ->> ''createdFrom'')::timestamptz)
       and ($2 ->> ''createdTo'' is null or p.least_at < ($2 ->> ''createdTo'')::timestamptz)',
    case when is_oldest_first then 'least_at' else 'greatest_at' end, case when is_oldest_first then 'asc' else 'desc' end,
    case when is_oldest_first then 'greatest_at' else 'least_at' end, case when is_oldest_first then '>=' else '<=' end)
$$;

-- A list of the feedback that has the searched words and meets the condition, as `list_places` has
-- it. texts: SQL for the numbers of such texts in the blocks $5. It reads the blocks in the order of
-- the list, and ends when the times of all other blocks are behind its places. After `most_looked`
-- texts it also ends sooner, but never without progress.
create or replace function search_places(
  ws uuid, texts text, condition text, filters jsonb, after_at text, after_id uuid, is_oldest_first boolean, most integer,
  most_looked integer
) returns table (id uuid, at text, is_match boolean, is_end boolean)
  language plpgsql stable
  set enable_seqscan = off
  set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
  asked jsonb := case when filters ?| array['customerId', 'accountId'] then current_filters(ws, filters) else filters end;
  behind timestamptz := after_at::timestamp at time zone 'utc';
  records_query text := search_records_query(texts, condition, after_id is not null, is_oldest_first);
  blocks integer[];
  edges timestamptz[];
  edge timestamptz;
  found_ids uuid[];
  found_ats timestamptz[];
  ids uuid[] := '{}';
  ats timestamptz[] := '{}';
  first integer := 1;
  step integer := 1;
  seen bigint;
  looked bigint := 0;
  ready bigint := 0;
begin
  execute search_blocks_query(is_oldest_first) into blocks, edges using ws, asked, after_at, after_id;
  while first <= cardinality(blocks) loop
    execute records_query into seen, found_ids, found_ats
    using ws, asked, after_at, after_id, blocks[first : first + step - 1];
    looked := looked + seen;
    ids := ids || found_ids;
    ats := ats || found_ats;
    first := first + step;
    step := least(4 * step, 512);
    edge := edges[first];
    exit when edge is null;
    ready := (select count(*) from unnest(ats) as f (at) where case when is_oldest_first then f.at < edge else f.at > edge end);
    exit when ready >= most;
    exit when looked >= most_looked and (behind is null or case when is_oldest_first then edge > behind else edge < behind end);
  end loop;
  return query execute format(
    'select f.id, (f.at at time zone ''utc'')::text, true, false from unnest($1, $2) as f (id, at)
     where $3 is null or f.at %1$s $3 order by f.at %2$s, f.id %2$s limit $4',
    case when is_oldest_first then '<' else '>' end, case when is_oldest_first then 'asc' else 'desc' end)
  using ids, ats, edge, most;
  if edge is null or ready >= most then return; end if;
  return query select
    case when is_oldest_first then '00000000-0000-0000-0000-000000000000' else 'ffffffff-ffff-ffff-ffff-ffffffffffff' end::uuid,
    (edge at time zone 'utc')::text, false, true;
end $$;

-- The feedback of these texts: how many there are, and those behind the place that meet the
-- condition. The parameters are those of search_places.
create or replace function search_records_query(texts text, condition text, is_behind boolean, is_oldest_first boolean)
returns text
  language sql immutable as $$
  select format(
    'select count(*), array_agg(r.id) filter (where r.is_match), array_agg(r.created_at) filter (where r.is_match)
     from (%1$s) as x
     cross join lateral (
       select t.record_id from search_text as t where t.workspace_id = $1 and t.number = x.number offset 0
     ) as t
     cross join lateral (
       select r.id, r.created_at, (%2$s) %3$s as is_match from feedback as r
       where r.workspace_id = $1 and r.id = t.record_id offset 0
     ) as r',
    texts, condition,
    case when is_behind then
      format('and (r.created_at, r.id) %s ($3::timestamp at time zone ''utc'', $4)', case when is_oldest_first then '>' else '<' end)
    end)
$$;

-- The hashes among these that a text has, in blocks from `first_block` on, as texts.
create or replace function known_hashes(ws uuid, hashes bigint[], first_block integer) returns text[]
  language plpgsql stable
  set enable_seqscan = off
  set enable_bitmapscan = off
as $$
begin
  return array(
    select w.hash::text from unnest(hashes) as w (hash) cross join lateral (
      select 1 from search_span as s cross join lateral (
        select 1 from search_block as k
        where s.is_filed and k.workspace_id = ws and k.block = s.block and k.hash = w.hash
        union all
        select 1 from search_text as t
        where not s.is_filed and t.workspace_id = ws and t.number between s.block * 1024 and s.block * 1024 + 1023
          and w.hash = any (t.hashes)
        offset 0
      ) as k
      where s.workspace_id = ws and s.block >= first_block and s.block < first_block + 1048576 limit 1
    ) as f
  );
end $$;
