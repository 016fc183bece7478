-- Facts of a contact or account are written anew whenever something is said about it, each time with all that is known. Those beyond 2 KB were
-- compressed for that, in three places: of the 2 s that one submission about a contact with 16 MB of them took, 1.2. Values that are
-- stored stay as they are.
alter table identity_key alter column facts set storage external;
alter table contact alter column facts set storage external, alter column properties set storage external;
alter table account alter column facts set storage external, alter column properties set storage external;
