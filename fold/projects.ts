import { asUuid, canonicalName, projectKey, type Realm } from '../contract/identity/keys.ts'
import type { FeedbackRecord } from '../contract/feedback-record.ts'
import type { Changes } from './changes.ts'

/** The projects of a workspace, by own id. */
export class Projects {
  readonly realm: Realm
  readonly #ids = new Set<string>()
  readonly #added: { id: string; name: string; number: number }[] = []

  constructor(realm: Realm) {
    this.realm = realm
  }

  learn(id: string): void {
    this.#ids.add(id)
  }

  /** The project of a feedback: by own id, else by name. Creates a project for a new name. */
  findOrCreate({ projectId, project }: FeedbackRecord, number: number): string | undefined {
    for (const given of [projectId, project?.id]) {
      const id = asUuid(given ?? '')
      if (id !== undefined && this.#ids.has(id)) return id
    }
    const name = canonicalName(project?.name ?? '')
    if (name === undefined) return undefined
    const id = projectKey(this.realm, name)
    if (!this.#ids.has(id)) this.#added.push({ id, name: project!.name!, number })
    this.#ids.add(id)
    return id
  }

  writeTo(changes: Changes): void {
    for (const { id, name, number } of this.#added) changes.project.push({ id, name, first_number: number })
  }
}
