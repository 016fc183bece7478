-- Indexes for those who read by time and by source. An index that begins with the workspace looks as good as the primary key to a connection
-- that plans while the table is empty, and then each look-up of one feedback reads all of its workspace (500 feedback after 9,500: 2,000 ms
-- instead of 50). These have a condition that only a query fulfils that asks for a time, or for a source.
drop index feedback_created;
drop index feedback_source;
create index feedback_created on feedback (workspace_id, created_at) where created_at is not null;
create index feedback_source on feedback (workspace_id, source, created_at) where source is not null;
