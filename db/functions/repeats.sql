-- What says again what was said before: the same claim, or the same about whom a replaced feedback named. It changes no answer and
-- takes no row, however often it comes. Without this a row stayed for each call: 16,000 for a contact who was identified at 16,000
-- logins.
--
-- A later saying is needed after all when something else comes between the two. So one is left out only when nothing can: nothing that
-- was accepted between them is stored elsewhere at the moment, or dead and can be replayed. Where it cannot be told yet it is kept, and
-- left out when the next one comes.

-- The numbers, ascending, with which something may still come; null if nobody knows. `outstanding` are those of what was accepted before
-- the last of a part and is not settled, without the part itself (worker/store-in-turn.ts).
create or replace function unsettled_numbers(ws uuid, outstanding jsonb) returns bigint[]
  language plpgsql stable as $$
declare
  -- More than anybody leaves lying: each batch would read them.
  most constant int := 1000;
  dead bigint[] := '{}';
begin
  if outstanding is null then return null; end if;
  if exists (select from dead_submission where workspace_id = ws) then
    dead := array(
      select s.acceptance_number
      from (select id from dead_submission where workspace_id = ws limit most + 1) as d,
        lateral (select acceptance_number from submission where workspace_id = ws and id = d.id offset 0) as s
    );
    if cardinality(dead) > most then return null; end if;
  end if;
  return array(
    select n from (select value::bigint as n from jsonb_array_elements_text(outstanding) union select unnest(dead)) as o order by n
  );
end $$;

-- Whether nothing can come any more between two numbers, of which the first is lower.
create or replace function are_neighbours(unsettled bigint[], one bigint, other bigint) returns boolean
  language sql immutable as $$
  select width_bucket(one, unsettled) = width_bucket(other, unsettled)
$$;

-- The claims of these parts, without those that repeat others. `asked` are the parts as they came, which know what is outstanding. Mostly
-- each key is claimed for the first time.
create or replace function news_in_parts(parts workspace_part[], asked workspace_part[]) returns new_claim[]
  language plpgsql as $$
declare
  claims new_claim[] := claims_in(parts);
  repeating uuid[];
begin
  if cardinality(claims) = 0 then return claims; end if;
  repeating := array(
    select c.key_id from unnest(claims) as c
    group by c.workspace_id, c.key_id
    having count(*) > 1 or exists (
      select from identity_claim as i where i.workspace_id = c.workspace_id and i.key_id = c.key_id offset 0
    )
  );
  if cardinality(repeating) = 0 then return claims; end if;
  return array(select c from unnest(claims) as c where c.key_id <> all (repeating)) || array(
    select n
    from (
      select c.workspace_id, array_agg(c) as claims from unnest(claims) as c where c.key_id = any (repeating) group by c.workspace_id
    ) as own
    join unnest(asked) as a on a.workspace_id = own.workspace_id,
      unnest(news_in_claims(own.workspace_id, own.claims, a.part -> 'outstanding')) as n
  );
end $$;

-- Without the claims that repeat the one before them. Of those that decide nothing the first one of each contact is enough. Where it
-- cannot be told yet whether another will come between, the claim is kept and left to upkeep (leave_out_left).
create or replace function news_in_claims(ws uuid, claims new_claim[], outstanding jsonb) returns new_claim[]
  language plpgsql as $$
declare
  unsettled bigint[];
  news new_claim[];
  left_keys uuid[];
  left_after bigint[];
begin
  if cardinality(claims) = 0 then return claims; end if;
  unsettled := unsettled_numbers(ws, outstanding);
  if unsettled is null then
    perform leave_to_upkeep(ws, 'claims', array_agg(c.key_id), array_agg(c.number)) from unnest(claims) as c where c.decides;
    return claims;
  end if;
  select array_agg(c.claim) filter (where not (c.repeating and c.next)),
    array_agg((c.claim).key_id) filter (where c.left_at is not null), array_agg(c.left_at) filter (where c.left_at is not null)
  into news, left_keys, left_after
  from (
    select said.claim, of_it.repeating, of_it.next,
      case
        when of_it.repeating and not of_it.next then before.number
        when not of_it.repeating and following.target_id = (said.claim).target_id then (said.claim).number
      end as left_at
    from (
      select s::new_claim as claim, lag(s.number) over of_kind as number, lag(s.target_id) over of_kind as target_id
      from unnest(claims) as s
      window of_kind as (partition by s.key_id, s.decides, case when not s.decides then s.target_id end order by s.number)
    ) as said
    -- The stored claim that it comes after; of one that decides nothing, the first of the same contact.
    left join lateral (
      (select c.number, c.target_id from identity_claim as c
       where (said.claim).decides and c.workspace_id = ws and c.key_id = (said.claim).key_id and not c.link and c.decides
         and c.number < (said.claim).number
       order by c.number desc limit 1)
      union all
      (select c.number, c.target_id from identity_claim as c
       where not (said.claim).decides and c.workspace_id = ws and c.key_id = (said.claim).key_id
         and c.target_id = (said.claim).target_id and c.number < (said.claim).number
       order by c.number limit 1)
    ) as stored on true,
      lateral (
        select greatest(said.number, stored.number) as number,
          case when said.number >= coalesce(stored.number, 0) then said.target_id else stored.target_id end as target_id
      ) as before,
      lateral (
        select before.target_id is not distinct from (said.claim).target_id as repeating,
          not (said.claim).decides or are_neighbours(unsettled, before.number, (said.claim).number) as next
      ) as of_it
    -- The stored claim that comes after it, since it came late.
    left join lateral (
      select c.target_id from identity_claim as c
      where (said.claim).decides and c.workspace_id = ws and c.key_id = (said.claim).key_id and not c.link and c.decides
        and c.number > (said.claim).number
      order by c.number limit 1
    ) as following on true
  ) as c;
  perform leave_to_upkeep(ws, 'claims', left_keys, left_after);
  return coalesce(news, '{}');
end $$;

-- Takes out what replaced submissions of these feedback have said and an earlier one of the same feedback had said already.
create or replace function leave_out_repeated(said incoming_feedback[], asked workspace_part[]) returns void
  language plpgsql as $$
begin
  if coalesce(cardinality(said), 0) = 0 then return; end if;
  perform leave_out_superseded(r.workspace_id, r.replaced, r.highest, a.part -> 'outstanding')
  from (
    select f.workspace_id, array_agg(f.id) as replaced, max(f.number) as highest
    from unnest(said) as f,
      lateral (select from superseded_reference where workspace_id = f.workspace_id and id = f.id limit 1) as s
    where f.source_id is not null
    group by f.workspace_id
  ) as r
  join unnest(asked) as a on a.workspace_id = r.workspace_id
  where a.part ? 'outstanding';
end $$;

-- Where it cannot be told yet that something repeats, or there is much to compare, it is left to upkeep (leave_out_left). `highest` is the
-- last number of the batch.
create or replace function leave_out_superseded(ws uuid, replaced uuid[], highest bigint, outstanding jsonb) returns void
  language plpgsql as $$
declare
  unsettled bigint[] := unsettled_numbers(ws, outstanding);
  record uuid;
  times int;
begin
  if exists (select from relink_left where workspace_id = ws) then unsettled := null; end if;
  -- What has not all before it settled can still come to mean others.
  highest := least(highest, unsettled[1]);
  for record, times in select id, count(*) + 16 from unnest(replaced) as r (id) group by id loop
    if unsettled is not null then
      perform forget_superseded(ws, array(select place from said_before(ws, record, highest, null, times)));
    end if;
    if unsettled is null
      or exists (select from superseded_reference where workspace_id = ws and id = record and number > highest)
      or (select count(*) from (
        select from superseded_reference where workspace_id = ws and id = record limit times + 1
      ) as s) > times
    then
      perform leave_to_upkeep(ws, 'feedback', array[record], array[0]);
    end if;
  end loop;
end $$;

-- What an earlier of some superseded references of a feedback says as well: the last `most` up to a number or, with `after`, the first
-- from there. It says the same when it gives values for the same facts to those whom the same key means by the same claim; the values may
-- differ, since the first holds. A slot in which an id meant somebody gives nothing. All before them is settled, so it stays like that.
create or replace function said_before(ws uuid, record uuid, highest bigint, after bigint, most int)
  returns table (place tid, number bigint)
  language sql stable as $$
  select s.place, s.number
  from (
    select t.place, t.number, t.contact_given or t.account_given or t.project_given as gives, lag(t.number) over (
      partition by
        given_by(ws, t.contact_given, t.contact_ref, t.number), given_by(ws, t.account_given, t.account_ref, t.number),
        case when t.project_given then t.project_ref ->> 'weak' end
      order by t.number
    ) as former
    from (
      (select ctid as place, k.* from superseded_reference as k
       where after is null and k.workspace_id = ws and k.id = record and k.number <= highest order by k.number desc limit most)
      union all
      (select ctid as place, k.* from superseded_reference as k
       where k.workspace_id = ws and k.id = record and k.number between after and highest order by k.number limit most)
    ) as t
  ) as s
  where s.former is not null or not s.gives
$$;

-- Whom a reference gives something at n, and which facts.
create or replace function given_by(ws uuid, given boolean, ref jsonb, n bigint) returns jsonb
  language plpgsql stable as $$
begin
  if not given then return null; end if;
  return jsonb_build_array(
    ref -> 'weak', decisive_key(ws, (ref ->> 'weak')::uuid, n),
    ref -> 'nameKey', decisive_key(ws, (ref ->> 'nameKey')::uuid, n),
    jsonb_path_query_array(ref, '$.given.keyvalue().key')
  );
end $$;

-- The key that a weak key leads to at n. Whose that is can change; then it changes for all who were led there.
create or replace function decisive_key(ws uuid, weak uuid, n bigint) returns uuid
  language plpgsql stable strict as $$
declare
  decisive identity_claim := claim_at(ws, weak, n);
begin
  if decisive.key_id is null then return weak; end if;
  if decisive.link then return decisive_key(ws, decisive.target_id, greatest(n, decisive.number)); end if;
  return decisive.target_id;
end $$;

create or replace function forget_superseded(ws uuid, places tid[]) returns void
  language sql as $$
  with gone as (
    delete from superseded_reference where workspace_id is not distinct from ws and ctid = any (places) returning id, number
  )
  delete from unresolved_reference where workspace_id is not distinct from ws and ctid = any (array(
    select u.place from gone as g,
      lateral (
        select ctid as place from unresolved_reference
        where workspace_id is not distinct from ws and record_id = g.id and number = g.number offset 0
      ) as u
  ))
$$;
