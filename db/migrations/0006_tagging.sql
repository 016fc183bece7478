-- Generated tags, [{record, id, number, tags}]: kept by the record for whose number they were made, and only by a feedback
-- that has none yet. Rows are locked in the order of their ids; the categories follow in the same transaction.
create function store_tags(ws uuid, tagged jsonb) returns void
  language plpgsql as $$
declare
  deltas jsonb;
begin
  perform lock_workspaces(array[ws]);
  with given as (
    select g.record, g.id, g.number, array(select jsonb_array_elements_text(g.tags)) as tags
    from jsonb_to_recordset(tagged) as g (record text, id uuid, number bigint, tags jsonb)
  ),
  former as (
    select g.id, c.tags from given as g join conversation as c on c.workspace_id = ws and c.id = g.id and c.number = g.number
    where g.record = 'conversation'
  ),
  kept_feedback as (
    update feedback as f set tags = g.tags
    from given as g
    where g.record = 'feedback' and f.workspace_id = ws and f.id = g.id and f.number = g.number and f.tags is null
    returning f.tags
  ),
  kept_conversations as (
    update conversation as c set tags = g.tags
    from given as g
    where g.record = 'conversation' and c.workspace_id = ws and c.id = g.id and c.number = g.number
    returning c.id, c.tags
  )
  select jsonb_object_agg(title, delta) into deltas
  from (
    select title, sum(uses) as delta
    from (
      select unnest(tags) as title, 1 as uses from kept_feedback
      union all
      select unnest(tags), 1 from kept_conversations
      union all
      select unnest(f.tags), -1 from former as f join kept_conversations as k on k.id = f.id
    ) as changes
    group by title
  ) as summed;
  if deltas is not null then
    perform count_tags(ws, deltas);
  end if;
end $$;
