-- What may still repeat something (repeats.sql) is left to upkeep, which looks when all that was accepted before is settled.

-- What repeats another among these records or keys is looked for from these numbers on.
create or replace function leave_to_upkeep(ws uuid, of_kind text, ids uuid[], numbers bigint[]) returns void
  language sql as $$
  insert into repeat_left as r (workspace_id, kind, id, after)
  select ws, of_kind, i.id, min(i.number) from unnest(ids, numbers) as i (id, number) group by i.id
  on conflict (workspace_id, kind, id) do update set after = excluded.after where r.after > excluded.after
$$;

-- Upkeep: takes out what was left, a thousand rows at most; everything up to a number is settled. What was looked at longest ago comes
-- first. Returns how many rows it has looked at.
create or replace function leave_out_left(ws uuid, settled_through bigint) returns int
  language plpgsql
  set enable_seqscan = off
  set enable_bitmapscan = off
as $$
declare
  most constant int := 1000;
  of_it repeat_left;
  unsettled bigint[];
  highest bigint;
  numbers bigint[];
begin
  perform lock_workspaces(array[ws]);
  unsettled := unsettled_numbers(ws, '[]');
  select * into of_it from repeat_left where workspace_id = ws order by looked_at limit 1;
  if not found or unsettled is null or exists (select from relink_left where workspace_id = ws) then return 0; end if;
  highest := least(settled_through, case when of_it.kind = 'feedback' then unsettled[1] end);
  if of_it.kind = 'feedback' then
    numbers := array(
      select number from superseded_reference
      where workspace_id = ws and id = of_it.id and number between of_it.after and highest order by number limit most
    );
    perform forget_superseded(ws, array(select place from said_before(ws, of_it.id, highest, of_it.after, most)));
  else
    -- From the claim before on: one that came late repeats it, or is repeated.
    numbers := array(
      select number from identity_claim
      where workspace_id = ws and key_id = of_it.id and not link and decides and number <= highest
        and number >= coalesce((
          select max(number) from identity_claim
          where workspace_id = ws and key_id = of_it.id and not link and decides and number < of_it.after
        ), of_it.after)
      order by number limit most
    );
    perform leave_out_claims(ws, of_it.id, numbers, unsettled);
  end if;
  -- Where something before them is not settled yet, the others are looked at first and these again.
  if cardinality(numbers) = most or are_left_above(of_it, highest) then
    update repeat_left set after = coalesce(numbers[cardinality(numbers)], of_it.after), looked_at = clock_timestamp()
    where workspace_id = ws and kind = of_it.kind and id = of_it.id;
  else
    delete from repeat_left where workspace_id = ws and kind = of_it.kind and id = of_it.id;
  end if;
  return cardinality(numbers);
end $$;

create or replace function are_left_above(of_it repeat_left, highest bigint) returns boolean
  language sql stable as $$
  select case of_it.kind
    when 'feedback' then exists (
      select from superseded_reference where workspace_id = of_it.workspace_id and id = of_it.id and number > highest
    )
    else exists (
      select from identity_claim
      where workspace_id = of_it.workspace_id and key_id = of_it.id and not link and decides and number > highest
    )
  end
$$;

create or replace function leave_out_claims(ws uuid, key uuid, numbers bigint[], unsettled bigint[]) returns void
  language sql as $$
  delete from identity_claim where workspace_id is not distinct from ws and ctid = any (array(
    select c.place
    from (
      select ctid as place, number, target_id, lag(number) over by_number as former_number, lag(target_id) over by_number as former_target
      from identity_claim
      where workspace_id = ws and key_id = key and not link and decides
        and number between numbers[1] and numbers[cardinality(numbers)]
      window by_number as (order by number)
    ) as c
    where c.target_id = c.former_target and are_neighbours(unsettled, c.former_number, c.number)
  ))
$$;
