import { ImportError } from './import-error.ts'
import { type Kind, KINDS } from './kinds.ts'
import { chooseLayout } from './layouts.ts'
import { createMapping, type Mapping, parsePair } from './mapping.ts'
import type { SourceFile } from './source-file.ts'

/** The options of the command that decide about the mapping. */
export type MappingWords = {
  readonly kind?: string | undefined
  readonly layout?: string | undefined
  readonly map: readonly string[]
  readonly 'map-value': readonly string[]
  readonly set: readonly string[]
  readonly 'keep-rest': boolean
  readonly utc: boolean
}

/** @throws ImportError when the options do not fit the file or each other */
export const planMapping = (file: SourceFile, words: MappingWords): Mapping => {
  const asked = words.map.map((text) => parsePair(text, '--map column=field'))
  const kind = kindOf(words.kind)
  const layout = chooseLayout(file.columns?.map(({ title }) => title) ?? file.members(), {
    layout: words.layout,
    kind,
    fields: [
      ...asked.flatMap(({ right }) => right.replace(/:.*/s, '') || []),
      ...words.set.map((text) => parsePair(text, '--set field=value', 'first').left),
    ],
  })
  // Members of JSON have the names of fields, unless an option or the layout renames them.
  const renamed = [...asked.map(({ left }) => left), ...(layout?.map ?? []).map((text) => parsePair(text, '').left)]
  return createMapping({
    kind: kind ?? layout?.kind ?? 'feedback',
    layout,
    columns: file.columns ?? [...new Set(renamed)].map((name) => ({ name, title: name })),
    map: words.map,
    mapValue: words['map-value'],
    set: words.set,
    keepRest: words['keep-rest'],
    utc: words.utc,
  })
}

const kindOf = (name: string | undefined): Kind | undefined => {
  const kind = KINDS.find((known) => known === name)
  if (name !== undefined && kind === undefined) throw new ImportError(`--kind must be one of ${KINDS.join(', ')}.`)
  return kind
}
