// Made of api/openapi/openapi.json by `npm run client`.

/** One piece of customer feedback and, if known, its contact, account and project. */
export type FeedbackSubmission = {
  /** The words of the customer: plain text or simple HTML. May be empty. */
  readonly description: string
  /** A heading for the feedback. */
  readonly title?: string | null | undefined
  /** Whether the text is the transcript of something spoken. */
  readonly isTranscript?: boolean | null | undefined
  /** Your own tags, stored as written, but trimmed, and without blank ones and duplicates. An empty array means no tags. If absent or null, the service generates tags from title and description a little later. */
  readonly tags?: readonly string[] | null | undefined
  /** How `contactId` and `contact.id` are read: true means the id that your system gave the contact. False or absent means the id that this service gave it. */
  readonly isExternalContactId?: boolean | undefined
  /** The contact who gave it. Used when `contactId` is absent or unknown. */
  readonly contact?: ContactReference | null | undefined
  /** The contact who gave the feedback, by id. An own id that no contact has is dropped. An unknown external id is remembered if `contact` names no contact: the feedback is linked once a contact with this id is identified. A placeholder is refused as an external id. */
  readonly contactId?: string | null | undefined
  /** How `accountId` and `account.id` are read: true means the id that your system gave the account. False or absent means the id that this service gave it. */
  readonly isExternalAccountId?: boolean | undefined
  /** The account. Used when `accountId` is absent or unknown. */
  readonly account?: AccountReference | null | undefined
  /** The account, by id. Unknown ids are treated like those in `contactId`. */
  readonly accountId?: string | null | undefined
  /** The project that it is about. Used when `projectId` is absent or unknown. */
  readonly project?: ProjectReference | null | undefined
  /** The project that it is about, by the id that this service gave it. */
  readonly projectId?: string | null | undefined
  /** The system that the feedback comes from. If absent, null or blank, `API`. */
  readonly source?: string | null | undefined
  /** The id of the record in its source, such as the key of a ticket. The same source and `sourceId` again replace the record, which keeps its own id. Without `sourceId` every submission creates a record. A placeholder is refused. */
  readonly sourceId?: string | null | undefined
  /** When true, top-level keys with dots become nested objects before storing: `a.b` turns into `b` inside `a`. A key that cannot be nested stays as it was, and so does a key that begins with `$`. Concerns `sourceData`. */
  readonly shouldUnflattenSourceData?: boolean | null | undefined
  /** Any further data, such as the address of the original. */
  readonly sourceData?: FreeObject | null | undefined
  /** A score that came with it, commonly a whole number. Fractions are accepted. */
  readonly rating?: number | null | undefined
  /** When the customer gave it: RFC 3339 with an offset, years 1 to 9999. Kept as UTC. If absent or null, the time at which the feedback was accepted. */
  readonly createdAt?: string | null | undefined
}

/** A contact, by `id` or by `email`. An `id` that resolves wins. An unknown email creates a contact. */
export type ContactReference = {
  /** Id of an existing contact, read as `isExternalContactId` says. */
  readonly id?: string | undefined
  /** Name of the contact. It does not replace a stored name. */
  readonly name?: string | undefined
  /** Its key. A text that is no address is stored, and is no key. Compared in canonical form; a blank or a placeholder counts as absent. */
  readonly email?: string | undefined
  /** Further facts about the contact, stored as its metadata. */
  readonly sourceData?: FreeObject | null | undefined
}

/** An account, by `id`, `domain` or `name`. An unknown domain or name creates an account. An `id` that resolves wins. Where domain and name belong to different accounts, the domain decides. */
export type AccountReference = {
  /** Id of an existing account, read as `isExternalAccountId` says. */
  readonly id?: string | undefined
  /** Name of the account, or another text unique in your system. Compared in canonical form; a blank or a placeholder counts as absent. */
  readonly name?: string | undefined
  /** Its domain, or another text unique in your system. Compared in canonical form; a blank or a placeholder counts as absent. */
  readonly domain?: string | undefined
  /** What the contract with the account is worth. */
  readonly contractValue?: number | null | undefined
  /** Further facts about the account, stored as its metadata. */
  readonly sourceData?: FreeObject | null | undefined
}

/** A project, by `id` or by `name`. An unknown name creates a project. */
export type ProjectReference = {
  /** The id that this service gave the project. */
  readonly id?: string | undefined
  /** Name of the project, unique in the workspace. Compared in canonical form; a blank or a placeholder counts as absent. */
  readonly name?: string | undefined
}

/** The facts about a person in one source system. */
export type ContactRecord = {
  /** The id that the source system gave the contact. A placeholder is refused. */
  readonly id: string
  /** When true, top-level keys with dots become nested objects before storing: `a.b` turns into `b` inside `a`. A key that cannot be nested stays as it was, and so does a key that begins with `$`. Concerns `properties`. */
  readonly shouldUnflattenProperties?: boolean | null | undefined
  /** Facts about the contact. Absent keys keep their value. */
  readonly properties?: ContactProperties | null | undefined
  /** Its account, identified along with it. Absent or null changes nothing. */
  readonly account?: AccountRecord | null | undefined
  /** Only contacts of this source system are searched and changed. If absent, null or blank, all sources are searched, and a new contact belongs to `API`, or in a conversation to the source of the conversation. */
  readonly source?: string | null | undefined
}

/** Facts about a contact. The `$`-keys below have columns of their own, and null clears them. Every other key is stored as metadata. */
export type ContactProperties = {
  /** Email address. From then on the email means this contact, even if another contact had it. A contact known by the email alone becomes one with this contact; contacts with different ids are never merged. A placeholder and a text that is no address are stored, and mean no contact. */
  readonly $email?: string | null | undefined
  /** Name to show. */
  readonly $name?: string | null | undefined
  /** When the contact was created in the system that the record comes from: RFC 3339 with an offset, years 1 to 9999. Kept as UTC. */
  readonly $createdAt?: string | null | undefined
  /** When the contact last changed in the system that the record comes from: RFC 3339 with an offset, years 1 to 9999. Kept as UTC. If the stored time is newer, the record only fills members without a value. */
  readonly $updatedAt?: string | null | undefined
  /** What the contract with the contact is worth. */
  readonly $contractValue?: number | null | undefined
  readonly [key: string]: unknown
}

/** The facts about a company. */
export type AccountRecord = {
  /** The id that your system gave the account. A placeholder is refused. */
  readonly id: string
  /** When true, top-level keys with dots become nested objects before storing: `a.b` turns into `b` inside `a`. A key that cannot be nested stays as it was, and so does a key that begins with `$`. Concerns `properties`. */
  readonly shouldUnflattenProperties?: boolean | null | undefined
  /** Facts about the account. Its name and domain are required. Absent keys keep their value; keys other than those below are stored as metadata. */
  readonly properties?:
    | {
        /** Name of the account. */
        readonly $name: string
        /** Domain of the account. */
        readonly $domain: string
        /** When the account was created in the system that the record comes from: RFC 3339 with an offset, years 1 to 9999. Kept as UTC. */
        readonly $createdAt?: string | null | undefined
        /** When the account last changed in the system that the record comes from: RFC 3339 with an offset, years 1 to 9999. Kept as UTC. If the stored time is newer, the record only fills members without a value. */
        readonly $updatedAt?: string | null | undefined
        /** What the contract with the account is worth. */
        readonly $contractValue?: number | null | undefined
        readonly [key: string]: unknown
      }
    | undefined
}

/** What a person sets on a feedback: at least one member. It stays when the source sends the record again. Null gives the member back to the source or the service. */
export type Correction = {
  /** The tags, stored as written, but trimmed, and without blank ones and duplicates. An empty array means no tags. Null: the tags that the source sent, or else generated ones. */
  readonly tags?: readonly string[] | null | undefined
  /** What the text is. Null: as the service finds it. */
  readonly kind?: 'problem' | 'request' | 'praise' | 'question' | 'other' | undefined
  /** Own id of a theme. Null: the theme that the service has given it. */
  readonly themeId?: string | null | undefined
  /** The score. Null: the rating that the source sent. */
  readonly rating?: number | null | undefined
  /** Hides the feedback from counts, reports and agents, and from lists that do not ask for it. Null is the same as false. */
  readonly isHidden?: boolean | null | undefined
}

/** A theme that a person makes from feedback. */
export type NewTheme = {
  /** The name. */
  readonly name: string
  /** Own ids of feedback that a person puts into it: at least one that exists. */
  readonly feedbackIds: readonly string[]
}

/** What a person changes of a theme: at least one member. */
export type ThemeEdit = {
  /** The name. Null: the tag that names it. */
  readonly name?: string | null | undefined
  /** Hides the theme from counts and reports. Null is the same as false. */
  readonly isHidden?: boolean | null | undefined
  /** Own id of another theme. All texts of this theme, past and future, count among its texts. Null ends the merge. */
  readonly mergedInto?: string | null | undefined
  /** Own ids of feedback that a person puts into the theme. */
  readonly feedbackIds?: readonly string[] | null | undefined
  /** Own ids of feedback that gets the theme back that the service has given it. None of them may be in `feedbackIds`. */
  readonly removedFeedbackIds?: readonly string[] | null | undefined
}

/** A call, an email thread or a chat: its contacts and its messages. */
export type Conversation = {
  /** The id that the source gave the conversation. The same source and id again replace the conversation, unless a newer `updatedAt` was sent before. Messages and contacts that are not sent again stay. */
  readonly id: string
  /** A heading for the conversation. */
  readonly title?: string | null | undefined
  /** The system that the conversation comes from. If blank, `API`. */
  readonly source: string
  /** When the conversation began in the system that the record comes from: RFC 3339 with an offset, years 1 to 9999. Kept as UTC. */
  readonly createdAt: string
  /** When the conversation last changed in the system that the record comes from: RFC 3339 with an offset, years 1 to 9999. Kept as UTC. If a newer time was sent before, the conversation is not replaced. */
  readonly updatedAt?: string | null | undefined
  /** Contacts who took part. Each is identified as if by a call of its own. May be empty. */
  readonly contacts: readonly ContactRecord[]
  /** The messages. May be empty. */
  readonly messages: readonly Message[]
  /** A score of the conversation, commonly a whole number. Fractions are accepted. */
  readonly rating?: number | null | undefined
  /** When true, top-level keys with dots become nested objects before storing: `a.b` turns into `b` inside `a`. A key that cannot be nested stays as it was, and so does a key that begins with `$`. Concerns `properties`. */
  readonly shouldUnflattenProperties?: boolean | null | undefined
  /** When true, `properties` are also stored with every message. A key that the message has itself keeps its value. Absent or null means false. */
  readonly propagatePropertiesToMessages?: boolean | null | undefined
  /** Any further data about the conversation. */
  readonly properties?: FreeObject | undefined
}

/** One message, or one turn of a spoken conversation. */
export type Message = {
  /** Id of the message, unique in its conversation. The same id again replaces the message. */
  readonly id: string
  /** True when a customer or another outsider wrote it, false when your team did. */
  readonly incoming: boolean
  /** The external id of the contact who sent it. Looked up first in `contacts`, then in the source of the conversation, then in all sources. The contact need not exist yet. */
  readonly contactId?: string | undefined
  /** Text of the message. May be empty. */
  readonly content: string
  /** When it was sent in the system that the record comes from: RFC 3339 with an offset, years 1 to 9999. Kept as UTC. */
  readonly createdAt: string
  /** When true, top-level keys with dots become nested objects before storing: `a.b` turns into `b` inside `a`. A key that cannot be nested stays as it was, and so does a key that begins with `$`. Concerns `properties`. */
  readonly shouldUnflattenProperties?: boolean | null | undefined
  /** Any further data about the message. */
  readonly properties?: FreeObject | undefined
  /** Address of the original message. */
  readonly sourceUrl?: string | null | undefined
}

/** Free key-value pairs. Any key is stored. */
export type FreeObject = {
  readonly [key: string]: unknown
}

/** The settings of a source. They replace all of its settings. */
export type SourceSettings = {
  /** The ratings that mean "as bad as possible" and "as good as possible". Null: the ratings have no such meaning. Absent: 20 ratings show the scale, 1 to 5 or 0 to 10. */
  readonly scale?: readonly [number, number] | null | undefined
  /** The address of a record in its source, with `{sourceId}` in place of its id. */
  readonly link?: string | null | undefined
  /** The fields by which feedback can be filtered and counted. */
  readonly fields?:
    | readonly {
        /** The name of the field in reads, as in `field.plan=trial`. Sources can give fields the same name. */
        readonly name: string
        /** The member of `sourceData` or `properties` with the value, such as `plan`, or `user.plan` for `plan` inside `user`. */
        readonly path: string
        /** The record with the member: `sourceData` of the feedback, or `properties` of its contact or account. A field of a contact or account is read in the feedback of every source that does not declare the name itself. */
        readonly of: 'feedback' | 'contact' | 'account'
      }[]
    | undefined
}

/** A submission: an operation and its body. */
export type BatchItem = FeedbackItem | ContactItem | AccountItem | ConversationItem

/** An item of a batch: the operation create_feedback with its body. */
export type FeedbackItem = {
  /** The operation of the item. */
  readonly operation: 'create_feedback'
  /** The body of the operation. */
  readonly body: FeedbackSubmission
  /** Works like the header `Idempotency-Key` of the operation, with the same set of keys. */
  readonly idempotencyKey?: string | undefined
}

/** An item of a batch: the operation identify_contact with its body. */
export type ContactItem = {
  /** The operation of the item. */
  readonly operation: 'identify_contact'
  /** The body of the operation. */
  readonly body: ContactRecord
  /** Works like the header `Idempotency-Key` of the operation, with the same set of keys. */
  readonly idempotencyKey?: string | undefined
}

/** An item of a batch: the operation identify_account with its body. */
export type AccountItem = {
  /** The operation of the item. */
  readonly operation: 'identify_account'
  /** The body of the operation. */
  readonly body: AccountRecord
  /** Works like the header `Idempotency-Key` of the operation, with the same set of keys. */
  readonly idempotencyKey?: string | undefined
}

/** An item of a batch: the operation submit_conversation with its body. */
export type ConversationItem = {
  /** The operation of the item. */
  readonly operation: 'submit_conversation'
  /** The body of the operation. */
  readonly body: Conversation
  /** Works like the header `Idempotency-Key` of the operation, with the same set of keys. */
  readonly idempotencyKey?: string | undefined
}

/** Some members of the feedback that the service will store. */
export type FeedbackCreated = {
  /** The record. */
  readonly feedback: Feedback
}

/** A feedback record. Members without a value are left out. The members after `sourceData` are present only where the record is read. */
export type Feedback = {
  /** Own id of the record. The same source and `sourceId` always give the same id. */
  readonly id: string
  /** The text as it was submitted. */
  readonly description: string
  /** Own id of the contact who gave the feedback. It resolves to this contact until a purge removes the contact. Left out when it cannot be determined in time: while the database is away, or while queued submissions may change it. */
  readonly customerId?: string | undefined
  /** Own id of the project. Left out when it cannot be determined in time. */
  readonly projectId?: string | undefined
  /** The score as it was submitted, or as a person has corrected it. */
  readonly rating?: number | undefined
  /** The id of the record in its source. */
  readonly sourceId?: string | undefined
  /** The source data, unflattened if the submission asked for it. */
  readonly sourceData?:
    | {
        readonly [key: string]: unknown
      }
    | undefined
  /** The heading. */
  readonly title?: string | undefined
  /** Whether the text is a transcript. */
  readonly isTranscript?: boolean | undefined
  /** The tags that a person has set, else the submitted tags, or else the generated tags once they exist. */
  readonly tags?: readonly string[] | undefined
  /** Whether the tags are generated. */
  readonly tagsGenerated?: boolean | undefined
  /** The mood of the text, from -1 (blame) to 1 (praise). Left out while it is not sure. */
  readonly mood?: number | undefined
  /** What the text is: `problem`, `request`, `praise`, `question`, `other`. Left out while it is not sure. */
  readonly kind?: string | undefined
  /** Own id of its theme. If a person has merged this theme into another one, the other one. */
  readonly themeId?: string | undefined
  /** What gave it the theme: a `person`, a `tag`, or its `likeness` to other texts. */
  readonly themeBy?: string | undefined
  /** An id that feedback with nearly the same text shares. Left out if there is no other. */
  readonly similarId?: string | undefined
  /** The name of the theme, as it is now. */
  readonly themeName?: string | undefined
  /** The system that the feedback comes from. */
  readonly source?: string | undefined
  /** Own id of the account of the feedback, or else of the account that its contact has now. */
  readonly accountId?: string | undefined
  /** The name of the contact, as it is now. */
  readonly customerName?: string | undefined
  /** The name of the account, as it is now. */
  readonly accountName?: string | undefined
  /** The name of the project. */
  readonly projectName?: string | undefined
  /** The rating on the scale of its source, from 0 to 1. Left out if the source has no scale, or the rating is outside of it. */
  readonly satisfaction?: number | undefined
  /** The values of the declared fields, by their names: texts, numbers, true and false. They are as the feedback, its contact and its account have them now. Left out without any. */
  readonly fields?:
    | {
        readonly [key: string]: unknown
      }
    | undefined
  /** Whether a person has hidden it. A hidden feedback is in no count and no report. */
  readonly isHidden?: boolean | undefined
  /** The `createdAt` that was sent, or else `acceptedAt`. */
  readonly createdAt?: string | undefined
  /** When it was first accepted. */
  readonly acceptedAt?: string | undefined
  /** When it was last accepted. */
  readonly updatedAt?: string | undefined
}

/** The submission was accepted. */
export type Success = {
  /** Always true: a submission that is not accepted has another status. */
  readonly success: boolean
}

/** The result of each item. */
export type BatchAnswered = {
  /** One result for each item, in the order of the items. */
  readonly results: readonly BatchResult[]
}

/** The answer that the item would have got as a request of its own. */
export type BatchResult = {
  /** The status of the answer. */
  readonly status: number
  /** Id of the accepted submission, for `GET /submissions/{id}`. */
  readonly submissionId?: string | undefined
  /** What became of the submission. `queued`: waits to be applied, or is a purge whose records are being removed; `applied`: is stored, or is a purge that has ended; `superseded`: processed late, as a replay or after a failover of Redis, and without effect because a newer submission had replaced its record; or a correction or an edit whose record did not exist; `purged`: was dead, or waited to be replayed, when a purge of its contact removed it; `dead`: set aside with a reason; operators can replay it unless it is a purge. */
  readonly state?: 'queued' | 'applied' | 'superseded' | 'purged' | 'dead' | undefined
  /** Whole seconds after which to send the item again. */
  readonly retryAfter?: number | undefined
  /** The body of the answer. */
  readonly body: {
    readonly [key: string]: unknown
  }
}

/** The receipt of a submission. */
export type SubmissionFound = {
  /** The receipt. */
  readonly submission: Receipt
}

/** What became of an accepted submission. Nothing in it is personal. */
export type Receipt = {
  /** The id that came in `Submission-Id`. */
  readonly id: string
  /** The operation of the submission. `create_feedback`: POST /feedbacks; `identify_contact`: POST /contacts/identify; `identify_account`: POST /accounts/identify; `submit_conversation`: POST /conversations; `purge_contact`: POST /contacts/purge; `correct_feedback`: PATCH /feedbacks/{id}; `delete_feedback`: DELETE /feedbacks/{id}; `create_theme`: POST /themes; `edit_theme`: PATCH /themes/{id}. */
  readonly operation:
    | 'create_feedback'
    | 'identify_contact'
    | 'identify_account'
    | 'submit_conversation'
    | 'purge_contact'
    | 'correct_feedback'
    | 'delete_feedback'
    | 'create_theme'
    | 'edit_theme'
  /** What became of the submission. `queued`: waits to be applied, or is a purge whose records are being removed; `applied`: is stored, or is a purge that has ended; `superseded`: processed late, as a replay or after a failover of Redis, and without effect because a newer submission had replaced its record; or a correction or an edit whose record did not exist; `purged`: was dead, or waited to be replayed, when a purge of its contact removed it; `dead`: set aside with a reason; operators can replay it unless it is a purge. */
  readonly state: 'queued' | 'applied' | 'superseded' | 'purged' | 'dead'
  /** 0 while it waits to be processed for the first time. Of a submission that died: the attempts until then. Of a finished purge that found data: the attempts to remove this data. Otherwise 1. */
  readonly attempts: number
  /** When it was accepted. */
  readonly acceptedAt: string
  /** When it reached its final state; null while it is queued. */
  readonly finishedAt: string | null
  /** Why it is dead, without personal data; null otherwise. */
  readonly error: string | null
  /** Of a purge that has ended: the number of removed records, by kind. */
  readonly counts?:
    | {
        readonly [key: string]: number
      }
    | undefined
  /** Of a finished purge that found data: how many webhooks have confirmed the removal. */
  readonly consumers?:
    | {
        /** The webhooks of the workspace. */
        readonly total: number
        /** The webhooks that have confirmed all changes of the purge. */
        readonly confirmed: number
      }
    | undefined
  /** Of a purge that a worker has decided: keyed hashes of the `id` and `email` in the request. */
  readonly identifiers?:
    | {
        /** The hash of the `id`; null if the request had none. */
        readonly id: string | null
        /** The hash of the `email`; null if the request had none. */
        readonly email: string | null
      }
    | undefined
}

/** One thing that is wrong. */
export type Problem = {
  /** Where the problem is and what the service expected there. Never repeats the value. */
  readonly message: string
  /** The members that lead to the problem, joined by dots, such as `messages.0.createdAt`; the name of a header or parameter; or empty for the body as a whole. */
  readonly path: string
}

/** A contact. Members without a value are left out, here and in all records. */
export type Customer = {
  /** Own id. */
  readonly id: string
  /** The email as it was sent. */
  readonly email?: string | undefined
  /** Own id of its account. */
  readonly accountId?: string | undefined
  /** The name. */
  readonly name?: string | undefined
  /** `$contractValue`. */
  readonly contractValue?: number | undefined
  /** The `$createdAt` that was sent. */
  readonly sourceCreatedAt?: string | undefined
  /** The `$updatedAt` that was sent. */
  readonly sourceUpdatedAt?: string | undefined
  /** Metadata. */
  readonly properties: {
    readonly [key: string]: unknown
  }
  /** When the first submission that stored values of it was accepted. */
  readonly createdAt: string
  /** When the last submission that changed it was accepted. */
  readonly updatedAt: string
  /** The external ids of the record. */
  readonly externalIds: readonly {
    /** The source system. */
    readonly source: string
    /** The id in that system. */
    readonly id: string
  }[]
}

/** A company. */
export type Account = {
  /** Own id. */
  readonly id: string
  /** The domain as it was sent. */
  readonly domain?: string | undefined
  /** The name. */
  readonly name?: string | undefined
  /** `$contractValue`. */
  readonly contractValue?: number | undefined
  /** The `$createdAt` that was sent. */
  readonly sourceCreatedAt?: string | undefined
  /** The `$updatedAt` that was sent. */
  readonly sourceUpdatedAt?: string | undefined
  /** Metadata. */
  readonly properties: {
    readonly [key: string]: unknown
  }
  /** When the first submission that stored values of it was accepted. */
  readonly createdAt: string
  /** When the last submission that changed it was accepted. */
  readonly updatedAt: string
  /** The external ids of the record. */
  readonly externalIds: readonly {
    /** The source system. */
    readonly source: string
    /** The id in that system. */
    readonly id: string
  }[]
}

/** A project. */
export type Project = {
  /** Own id. */
  readonly id: string
  /** The name. */
  readonly name: string
  /** A description. */
  readonly description?: string | undefined
  /** When a submission first named it. */
  readonly createdAt: string
}

/** A theme: texts about one subject. */
export type Theme = {
  /** Own id. */
  readonly id: string
  /** The name that a person gave, or else a tag of its texts. Left out without either. */
  readonly name?: string | undefined
  /** Whether a person has hidden it. A hidden theme is in no count and no report. */
  readonly isHidden: boolean
  /** Own id of the theme into which a person merged it. */
  readonly mergedInto?: string | undefined
  /** When it came into being. */
  readonly createdAt: string
}

/** Something that the service tells by itself: more people than usual say something, or are unhappy. */
export type Alert = {
  /** Own id. */
  readonly id: string
  /** What it is about: a `theme`, `kind` or `tag`; or the satisfaction of a `source` or `account`. */
  readonly subject: string
  /** `new`: hardly one person said it before. `grown`: more people than before say it. `unhappy`: more people are unhappy. */
  readonly change: string
  /** Own id of the theme. */
  readonly themeId?: string | undefined
  /** The kind of the texts. */
  readonly kind?: string | undefined
  /** Own id of the tag: of its feedback category. */
  readonly tagId?: string | undefined
  /** The source. */
  readonly source?: string | undefined
  /** Own id of the account. */
  readonly accountId?: string | undefined
  /** How many days are compared, up to that of the alert. */
  readonly days: number
  /** How many people said it, or are unhappy, in these days. After a purge, still as it was. */
  readonly people: number
  /** How many people were to be expected by the weeks before. */
  readonly expected: number
  /** When it was found. */
  readonly createdAt: string
  /** The name of the theme, tag or account now. Left out without one. */
  readonly name?: string | undefined
}

/** The alerts and the greatest changes of a week. */
export type Digest = {
  /** Own id. */
  readonly id: string
  /** The Monday on which the week begins. */
  readonly week: string
  /** When it was made. */
  readonly createdAt: string
  /** The alerts of the week, the earliest first; at most 100. */
  readonly alerts: readonly Alert[]
  /** The themes and kinds that changed most, with their people. */
  readonly changes: readonly {
    /** `theme` or `kind`. */
    readonly subject: string
    /** Own id of the theme. */
    readonly themeId?: string | undefined
    /** The kind of the texts. */
    readonly kind?: string | undefined
    /** The name of the theme now. Left out without one. */
    readonly name?: string | undefined
    /** The people of the week. */
    readonly people: number
    /** The people of a mean week before. */
    readonly before: number
  }[]
}

/** A tag of a feedback or conversation. */
export type FeedbackCategory = {
  /** Own id. */
  readonly id: string
  /** The tag. */
  readonly title: string
}

/** A conversation without its messages. */
export type StoredConversation = {
  /** Own id. */
  readonly id: string
  /** The title. */
  readonly title?: string | undefined
  /** Its source. */
  readonly source: string
  /** Its id in the source. */
  readonly externalId: string
  /** The score. */
  readonly rating?: number | undefined
  /** Tags generated from its incoming messages, once they exist. */
  readonly tags?: readonly string[] | undefined
  /** The mood of the text, from -1 (blame) to 1 (praise). Left out while it is not sure. */
  readonly mood?: number | undefined
  /** What the text is: `problem`, `request`, `praise`, `question`, `other`. Left out while it is not sure. */
  readonly kind?: string | undefined
  /** Metadata. */
  readonly properties: {
    readonly [key: string]: unknown
  }
  /** The `createdAt` that was sent. */
  readonly createdAt: string
  /** The `updatedAt` that was sent. */
  readonly updatedAt?: string | undefined
  /** Own ids of its contacts. */
  readonly customerIds: readonly string[]
  /** Own id of its theme. If a person has merged this theme into another one, the other one. */
  readonly themeId?: string | undefined
}

/** A message of a conversation. */
export type StoredMessage = {
  /** Own id. */
  readonly id: string
  /** Own id of its conversation. */
  readonly conversationId: string
  /** Its id in the conversation. */
  readonly externalId: string
  /** True if a customer or another outsider wrote the message. */
  readonly incoming: boolean
  /** Own id of the contact that sent it. */
  readonly customerId?: string | undefined
  /** The text. */
  readonly content: string
  /** Address of the original message. */
  readonly sourceUrl?: string | undefined
  /** Its properties, including propagated properties of the conversation. */
  readonly rawData: {
    readonly [key: string]: unknown
  }
  /** The `createdAt` that was sent. */
  readonly createdAt: string
}

/** A page. */
export type FeedbackPage = {
  /** The records of this page. A page can be empty. */
  readonly feedbacks: readonly Feedback[]
  /** The `next` for the following page; null at the end of the list. */
  readonly next: string | null
  /** Only for a search that finds nothing: those of its words that occur nowhere. */
  readonly unknownWords?: readonly string[] | undefined
}

/** A page. */
export type CustomerPage = {
  /** The records of this page. A page can be empty. */
  readonly customers: readonly Customer[]
  /** The `next` for the following page; null at the end of the list. */
  readonly next: string | null
}

/** A page. */
export type AccountPage = {
  /** The records of this page. A page can be empty. */
  readonly accounts: readonly Account[]
  /** The `next` for the following page; null at the end of the list. */
  readonly next: string | null
}

/** A page. */
export type ProjectPage = {
  /** The records of this page. A page can be empty. */
  readonly projects: readonly Project[]
  /** The `next` for the following page; null at the end of the list. */
  readonly next: string | null
}

/** A theme, with the figures of its feedback. Those of a merged theme are with the other one, and a hidden theme has none. */
export type CountedTheme = {
  /** Own id. */
  readonly id: string
  /** The name that a person gave, or else a tag of its texts. Left out without either. */
  readonly name?: string | undefined
  /** Whether a person has hidden it. A hidden theme is in no count and no report. */
  readonly isHidden: boolean
  /** Own id of the theme into which a person merged it. */
  readonly mergedInto?: string | undefined
  /** When it came into being. */
  readonly createdAt: string
  /** The number of feedback. */
  readonly feedback: number
  /** How many of them have a satisfaction: a rating on the known scale of their source. */
  readonly rated: number
  /** The mean of these satisfactions, from 0 to 1. Null without any. */
  readonly satisfaction: number | null
  /** The share of these satisfactions that are 0.4 or less. Null without any. */
  readonly bad: number | null
}

/** A page. */
export type ThemePage = {
  /** The records of this page. A page can be empty. */
  readonly themes: readonly CountedTheme[]
  /** The `next` for the following page; null at the end of the list. */
  readonly next: string | null
}

/** One record. */
export type ThemeFound = {
  /** The record. */
  readonly theme: Theme
}

/** A page. */
export type AlertPage = {
  /** The records of this page. A page can be empty. */
  readonly alerts: readonly Alert[]
  /** The `next` for the following page; null at the end of the list. */
  readonly next: string | null
}

/** One record. */
export type AlertFound = {
  /** The record. */
  readonly alert: Alert
}

/** A page. */
export type DigestPage = {
  /** The records of this page. A page can be empty. */
  readonly digests: readonly Digest[]
  /** The `next` for the following page; null at the end of the list. */
  readonly next: string | null
}

/** One record. */
export type DigestFound = {
  /** The record. */
  readonly digest: Digest
}

/** The theme was accepted. */
export type ThemeCreated = {
  /** Own id of the new theme. */
  readonly themeId: string
}

/** A page. */
export type FeedbackCategoryPage = {
  /** The records of this page. A page can be empty. */
  readonly feedbackCategories: readonly FeedbackCategory[]
  /** The `next` for the following page; null at the end of the list. */
  readonly next: string | null
}

/** A page. */
export type StoredConversationPage = {
  /** The records of this page. A page can be empty. */
  readonly conversations: readonly StoredConversation[]
  /** The `next` for the following page; null at the end of the list. */
  readonly next: string | null
}

/** One record. */
export type StoredConversationFound = {
  /** The record. */
  readonly conversation: StoredConversation
  /** The messages of this page. */
  readonly messages: readonly StoredMessage[]
  /** The `next` for the following page; null at the end of the list. */
  readonly next: string | null
}

/** Changes in their order. */
export type ChangesPage = {
  /** The changes of this page. */
  readonly changes: readonly Change[]
  /** The value of `after` for the next request. */
  readonly next: string
}

/** Figures of all feedback that matches the filters. */
export type FeedbackFigures = {
  /** The number of feedback. */
  readonly feedback: number
  /** How many of them have a satisfaction: a rating on the known scale of their source. */
  readonly rated: number
  /** The mean of these satisfactions, from 0 to 1. Null without any. */
  readonly satisfaction: number | null
  /** The share of these satisfactions that are 0.4 or less. Null without any. */
  readonly bad: number | null
}

/** The figures of a group, with a member for each thing that is counted by. The value of a declared field is in a member such as `field.plan`. */
export type FeedbackCount = {
  /** The tag of the group, if it is counted by: an id, text, date or number. Null for feedback without. */
  readonly tag?: string | null | undefined
  /** The theme of the group, if it is counted by: an id, text, date or number. Null for feedback without. */
  readonly theme?: string | null | undefined
  /** The kind of the group, if it is counted by: an id, text, date or number. Null for feedback without. */
  readonly kind?: string | null | undefined
  /** The source of the group, if it is counted by: an id, text, date or number. Null for feedback without. */
  readonly source?: string | null | undefined
  /** The project of the group, if it is counted by: an id, text, date or number. Null for feedback without. */
  readonly project?: string | null | undefined
  /** The account of the group, if it is counted by: an id, text, date or number. Null for feedback without. */
  readonly account?: string | null | undefined
  /** The customer of the group, if it is counted by: an id, text, date or number. Null for feedback without. */
  readonly customer?: string | null | undefined
  /** The week of the group, if it is counted by: an id, text, date or number. Null for feedback without. */
  readonly week?: string | null | undefined
  /** The month of the group, if it is counted by: an id, text, date or number. Null for feedback without. */
  readonly month?: string | null | undefined
  /** The rating of the group, if it is counted by: an id, text, date or number. Null for feedback without. */
  readonly rating?: string | null | undefined
  /** The name of the theme, if it has one. */
  readonly themeName?: string | undefined
  /** The name of the project, if it has one. */
  readonly projectName?: string | undefined
  /** The name of the account, if it has one. */
  readonly accountName?: string | undefined
  /** The name of the customer, if it has one. */
  readonly customerName?: string | undefined
  /** The number of feedback. */
  readonly feedback: number
  /** How many of them have a satisfaction: a rating on the known scale of their source. */
  readonly rated: number
  /** The mean of these satisfactions, from 0 to 1. Null without any. */
  readonly satisfaction: number | null
  /** The share of these satisfactions that are 0.4 or less. Null without any. */
  readonly bad: number | null
}

/** A page of counts. */
export type CountsPage = {
  /** The figures of all feedback, on every page. */
  readonly total: FeedbackFigures
  /** The groups of this page. */
  readonly counts: readonly FeedbackCount[]
  /** The `next` for the following page; null at the end of the list. */
  readonly next: string | null
  /** Only for a search that finds nothing: those of its words that occur nowhere. */
  readonly unknownWords?: readonly string[] | undefined
}

/** A source of feedback, with its ratings and its settings. */
export type Source = {
  /** The name of the source. */
  readonly source: string
  /** The number of its feedback. */
  readonly feedback: number
  /** All ratings that it has sent, also in feedback that was replaced or purged. */
  readonly ratings: number
  /** The least of these ratings. Null without any. */
  readonly leastRating: number | null
  /** The greatest of these ratings. Null without any. */
  readonly mostRating: number | null
  /** The ratings that mean "as bad as possible" and "as good as possible". Null: the scale is not known, or there is none. */
  readonly scale: readonly [number, number] | null
  /** Whether a person gave the scale, or said that there is none. Else 20 ratings show it. */
  readonly isScaleGiven: boolean
  /** The address of a record in its source, with `{sourceId}` in place of its id. */
  readonly link: string | null
  /** The fields that it declares. */
  readonly fields: readonly {
    /** The name of the field in reads, as in `field.plan=trial`. Sources can give fields the same name. */
    readonly name: string
    /** The member of `sourceData` or `properties` with the value, such as `plan`, or `user.plan` for `plan` inside `user`. */
    readonly path: string
    /** The record with the member: `sourceData` of the feedback, or `properties` of its contact or account. A field of a contact or account is read in the feedback of every source that does not declare the name itself. */
    readonly of: 'feedback' | 'contact' | 'account'
  }[]
}

/** A page. */
export type SourcePage = {
  /** The sources of this page. */
  readonly sources: readonly Source[]
  /** The `next` for the following page; null at the end of the list. */
  readonly next: string | null
}

/** One source. */
export type SourceFound = {
  /** The source. */
  readonly source: Source
}

/** A changed record, or the tombstone of a removed record. */
export type Change =
  | FeedbackChange
  | CustomerChange
  | AccountChange
  | ProjectChange
  | ThemeChange
  | AlertChange
  | DigestChange
  | FeedbackCategoryChange
  | ConversationChange
  | MessageChange

/** A changed record of the kind feedback, or its tombstone. */
export type FeedbackChange = {
  /** The position of the change. Grows strictly in a workspace. */
  readonly position: number
  /** The kind of the record. */
  readonly kind: 'feedback'
  /** Own id of the record. */
  readonly id: string
  /** True if the record was removed. */
  readonly deleted: boolean
  /** The record in its latest state; absent if it was removed. */
  readonly record?: Feedback | undefined
}

/** A changed record of the kind customer, or its tombstone. */
export type CustomerChange = {
  /** The position of the change. Grows strictly in a workspace. */
  readonly position: number
  /** The kind of the record. */
  readonly kind: 'customer'
  /** Own id of the record. */
  readonly id: string
  /** True if the record was removed. */
  readonly deleted: boolean
  /** The record in its latest state; absent if it was removed. */
  readonly record?: Customer | undefined
  /** Own id of the record that absorbed this one, if it was merged. */
  readonly mergedInto?: string | undefined
}

/** A changed record of the kind account, or its tombstone. */
export type AccountChange = {
  /** The position of the change. Grows strictly in a workspace. */
  readonly position: number
  /** The kind of the record. */
  readonly kind: 'account'
  /** Own id of the record. */
  readonly id: string
  /** True if the record was removed. */
  readonly deleted: boolean
  /** The record in its latest state; absent if it was removed. */
  readonly record?: Account | undefined
  /** Own id of the record that absorbed this one, if it was merged. */
  readonly mergedInto?: string | undefined
}

/** A changed record of the kind project, or its tombstone. */
export type ProjectChange = {
  /** The position of the change. Grows strictly in a workspace. */
  readonly position: number
  /** The kind of the record. */
  readonly kind: 'project'
  /** Own id of the record. */
  readonly id: string
  /** True if the record was removed. */
  readonly deleted: boolean
  /** The record in its latest state; absent if it was removed. */
  readonly record?: Project | undefined
}

/** A changed record of the kind theme, or its tombstone. */
export type ThemeChange = {
  /** The position of the change. Grows strictly in a workspace. */
  readonly position: number
  /** The kind of the record. */
  readonly kind: 'theme'
  /** Own id of the record. */
  readonly id: string
  /** True if the record was removed. */
  readonly deleted: boolean
  /** The record in its latest state; absent if it was removed. */
  readonly record?: Theme | undefined
}

/** A changed record of the kind alert, or its tombstone. */
export type AlertChange = {
  /** The position of the change. Grows strictly in a workspace. */
  readonly position: number
  /** The kind of the record. */
  readonly kind: 'alert'
  /** Own id of the record. */
  readonly id: string
  /** True if the record was removed. */
  readonly deleted: boolean
  /** The record in its latest state; absent if it was removed. */
  readonly record?: Alert | undefined
}

/** A changed record of the kind digest, or its tombstone. */
export type DigestChange = {
  /** The position of the change. Grows strictly in a workspace. */
  readonly position: number
  /** The kind of the record. */
  readonly kind: 'digest'
  /** Own id of the record. */
  readonly id: string
  /** True if the record was removed. */
  readonly deleted: boolean
  /** The record in its latest state; absent if it was removed. */
  readonly record?: Digest | undefined
}

/** A changed record of the kind feedback_category, or its tombstone. */
export type FeedbackCategoryChange = {
  /** The position of the change. Grows strictly in a workspace. */
  readonly position: number
  /** The kind of the record. */
  readonly kind: 'feedback_category'
  /** Own id of the record. */
  readonly id: string
  /** True if the record was removed. */
  readonly deleted: boolean
  /** The record in its latest state; absent if it was removed. */
  readonly record?: FeedbackCategory | undefined
}

/** A changed record of the kind conversation, or its tombstone. */
export type ConversationChange = {
  /** The position of the change. Grows strictly in a workspace. */
  readonly position: number
  /** The kind of the record. */
  readonly kind: 'conversation'
  /** Own id of the record. */
  readonly id: string
  /** True if the record was removed. */
  readonly deleted: boolean
  /** The record in its latest state; absent if it was removed. */
  readonly record?: StoredConversation | undefined
}

/** A changed record of the kind message, or its tombstone. */
export type MessageChange = {
  /** The position of the change. Grows strictly in a workspace. */
  readonly position: number
  /** The kind of the record. */
  readonly kind: 'message'
  /** Own id of the record. */
  readonly id: string
  /** True if the record was removed. */
  readonly deleted: boolean
  /** The record in its latest state; absent if it was removed. */
  readonly record?: StoredMessage | undefined
}

/** What matches all of these filters. */
export type FeedbackFilters = {
  /** Words that must all occur in a text, in any form. `"two words"`: in a row; `or` between two words: either. */
  readonly q?: string | undefined
  /** The system that it came from, exactly as written there. */
  readonly source?: string | undefined
  /** All of these tags. */
  readonly tag?: readonly string[] | undefined
  /** Of this customer (person). */
  readonly customerId?: string | undefined
  /** Of this account (company): its own, and that of its customers. */
  readonly accountId?: string | undefined
  /** About this project (product). */
  readonly projectId?: string | undefined
  /** Of this theme. */
  readonly themeId?: string | undefined
  /** A text of this kind. */
  readonly kind?: 'problem' | 'request' | 'praise' | 'question' | 'other' | undefined
  /** The mood or less, from -1 (blame) to 1 (praise). */
  readonly moodMax?: number | undefined
  /** These values of declared fields, such as {"plan": "trial"}. */
  readonly fields?:
    | {
        readonly [key: string]: string | number | boolean
      }
    | undefined
  /** The rating or more. Give `source` too: sources have different scales. */
  readonly ratingMin?: number | undefined
  /** The rating or less. */
  readonly ratingMax?: number | undefined
  /** The satisfaction or more, from 0 to 1, comparable among all sources. */
  readonly satisfactionMin?: number | undefined
  /** The satisfaction or less. At most 0.4 is bad. */
  readonly satisfactionMax?: number | undefined
  /** A date, or a time such as 2026-01-31T09:30:00Z. In UTC. */
  readonly createdFrom?: string | undefined
  /** The same; a date includes its day. */
  readonly createdTo?: string | undefined
}

/** A webhook, which receives the changes of the workspace. */
export type WebhookSettings = {
  /** The address that the service posts changes to. */
  readonly url: string
  /** The kinds of records whose changes are posted. Absent: all; with a `filter`, feedback. */
  readonly kinds?:
    | readonly (
        | 'feedback'
        | 'customer'
        | 'account'
        | 'project'
        | 'theme'
        | 'alert'
        | 'digest'
        | 'feedback_category'
        | 'conversation'
        | 'message'
      )[]
    | null
    | undefined
  /** Posts changed feedback only if it matches, as in `GET /feedbacks`. Tombstones are posted in any case. */
  readonly filter?: FeedbackFilters | null | undefined
  /** Whether feedback waits until the tagger has read it, for a minute at most, so that it comes with tags, kind and theme. */
  readonly holdUntilTagged?: boolean | null | undefined
  /** The form of the messages. `slack`: a text for an incoming webhook of Slack, for alerts and digests alone. */
  readonly format?: 'standard' | 'slack' | undefined
  /** Begins after this position of the change feed; with 0, with all records. Absent: with the next change. */
  readonly from?: number | null | undefined
}

/** A webhook, and how far it has come. */
export type Webhook = {
  /** The id of the webhook. */
  readonly id: string
  /** The address that the service posts changes to. */
  readonly url: string
  /** `failed`: no delivery was confirmed for a day, or tombstones have expired. `gone`: the receiver answered 410. */
  readonly state: 'active' | 'paused' | 'failed' | 'gone'
  /** The kinds of records whose changes it gets. Null: all. */
  readonly kinds: readonly string[] | null
  /** The filter of its feedback, as it was given. */
  readonly filter: FeedbackFilters | null
  /** Whether feedback waits for its generated tags. */
  readonly holdUntilTagged: boolean
  /** The form of the messages. */
  readonly format: 'standard' | 'slack'
  /** The change position that it has reached. */
  readonly position: number
  /** Whether there are later changes. */
  readonly isBehind: boolean
  /** How many changes its receiver has confirmed. */
  readonly delivered: number
  /** How many changes before its position are not confirmed, or wait for tags. */
  readonly undelivered: number
  /** Why the latest deliveries failed. Null if they did not. */
  readonly fault: string | null
}

/** All webhooks. */
export type WebhookPage = {
  /** All webhooks of the workspace. */
  readonly webhooks: readonly Webhook[]
}

/** One webhook. */
export type WebhookFound = {
  /** The webhook. */
  readonly webhook: Webhook
}

/** A new webhook. */
export type WebhookCreated = {
  /** The webhook. */
  readonly webhook: Webhook
  /** Signs its messages. No other answer shows it. */
  readonly secret: string
}

/** The webhook is deleted. */
export type WebhookDeleted = {
  /** Always true. */
  readonly deleted: boolean
}

/** A message to a webhook. */
export type WebhookMessage = {
  /** The kind of the record, and `.changed` or `.deleted`; or `webhook.test`. */
  readonly type: string
  /** When the record changed. */
  readonly timestamp: string
  /** The change, as `GET /changes` answers it. */
  readonly data:
    | FeedbackChange
    | CustomerChange
    | AccountChange
    | ProjectChange
    | ThemeChange
    | AlertChange
    | DigestChange
    | FeedbackCategoryChange
    | ConversationChange
    | MessageChange
}

/** The contacts to delete: all that match the `id` or the `email`. One of the two is required. An email that is blank or a placeholder counts as absent. */
export type PurgeRequest = PurgeById | PurgeByEmail

/** Which contacts to delete: all that match the `id`, and all that match the `email` if it is present. */
export type PurgeById = {
  /** The id that a source system gave the contact. A placeholder is refused. */
  readonly id: string
  /** Email address of the contact, compared in canonical form. A text that is no address is refused. */
  readonly email?: string | null | undefined
  /** The only source system to search. If absent or null, all source systems are searched. */
  readonly source?: string | null | undefined
}

/** Which contacts to delete: all that match the `email`, and all that match the `id` if it is present. */
export type PurgeByEmail = {
  /** The id that a source system gave the contact. A placeholder is refused. */
  readonly id?: string | null | undefined
  /** Email address of the contact, compared in canonical form. A text that is no address is refused. */
  readonly email: string
  /** The only source system to search. If absent or null, all source systems are searched. */
  readonly source?: string | null | undefined
}
