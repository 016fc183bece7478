import { randomUUID } from 'node:crypto'
import type { Sql } from '../../db/connection/postgres.ts'
import { findNearTexts } from '../../db/tags/meaning.ts'
import type { StoredMeaning } from '../../db/tags/store-tags.ts'
import { isNearIdentical, type Signature } from '../../meaning/near-identical.ts'

type Signed = { id: string; signature: Signature | undefined }
/** A text to compare with. `isStored`: not one of the job. */
type Compared = Pick<Signature, 'marks'> & { id: string; similarId: string | null; isStored: boolean }

/** `joined`: stored feedback that gets an id that it shares. */
export type Similar = {
  of: (id: string) => Pick<StoredMeaning, 'similarId' | 'bands' | 'marks'>
  joined: { id: string; similarId: string }[]
}

/** Compares feedback with stored feedback, and with the feedback before it in the job. */
export const findSimilar = async (sql: Sql, workspaceId: string, texts: readonly Signed[]): Promise<Similar> => {
  const bands = new Set(texts.flatMap(({ signature }) => signature?.bands ?? []))
  const except = texts.map(({ id }) => id)
  const near = bands.size === 0 ? [] : await findNearTexts(sql, { workspaceId, bands: [...bands], except })
  const byBand = new Map<number, Compared[]>()
  const add = (text: Compared, ofText: readonly number[]): void => {
    for (const band of ofText) {
      const sharing = byBand.get(band)
      if (sharing === undefined) byBand.set(band, [text])
      else sharing.push(text)
    }
  }
  for (const { id, bands: shared, marks, similarId } of near) add({ id, marks, similarId, isStored: true }, shared)
  const own = new Map<string, Compared>()
  const joined = new Map<string, string>()
  for (const { id, signature } of texts) {
    if (signature === undefined) continue
    const { marks } = signature
    const twin = signature.bands
      .flatMap((band) => byBand.get(band) ?? [])
      .find((other) => isNearIdentical(other.marks, marks))
    if (twin !== undefined && twin.similarId === null) {
      twin.similarId = randomUUID()
      if (twin.isStored) joined.set(twin.id, twin.similarId)
    }
    const text: Compared = { id, marks, similarId: twin?.similarId ?? null, isStored: false }
    own.set(id, text)
    add(text, signature.bands)
  }
  const bandsOf = new Map(texts.map(({ id, signature }) => [id, signature?.bands ?? []]))
  return {
    of: (id) => ({
      similarId: own.get(id)?.similarId ?? null,
      bands: bandsOf.get(id) ?? [],
      marks: own.get(id)?.marks ?? new Uint8Array(),
    }),
    joined: [...joined].map(([id, similarId]) => ({ id, similarId })),
  }
}
