-- created_at: when the customer gave it, which is what source_created_at says, or else when it was accepted. The table is written anew.
alter table feedback
  add column source_created_at timestamptz,
  add column created_at timestamptz not null generated always as (coalesce(source_created_at, acceptance_time(first_number))) stored;
create index feedback_created on feedback (workspace_id, created_at);
create index feedback_source on feedback (workspace_id, source, created_at);

-- What people read who would rather not join. A feedback whose account nobody named counts to that of its contact.
create view feedback_view as
  select f.workspace_id, f.id, f.title, f.description, f.is_transcript, f.tags, f.tags_generated, f.rating,
    f.source, f.source_id, f.source_data, f.created_at, f.accepted_at, f.updated_at,
    f.contact_id, c.name as contact_name, c.email as contact_email, c.contract_value as contact_contract_value,
    a.id as account_id, a.name as account_name, a.domain as account_domain, a.contract_value as account_contract_value,
    f.project_id, p.name as project_name
  from feedback as f
  left join contact as c on c.workspace_id = f.workspace_id and c.id = f.contact_id
  left join account as a on a.workspace_id = f.workspace_id and a.id = coalesce(f.account_id, c.account_id)
  left join project as p on p.workspace_id = f.workspace_id and p.id = f.project_id;

create view feedback_tag as
  select f.workspace_id, f.id as feedback_id, t.tag from feedback as f, unnest(f.tags) as t (tag);
