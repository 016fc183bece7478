import {
  type DeclaredField,
  FIELD_OWNERS,
  hasTwice,
  isFieldName,
  isFieldPath,
  isScale,
  isSourceLink,
  isSourceName,
  MISPLACED_LINK,
  NO_SCALE,
  NO_SOURCE,
  type SourceSettings,
  TOO_MANY_FIELDS,
} from '../contract/source-settings.ts'
import { listSources, setSource, type Source } from '../db/sources.ts'
import { DEFAULT_WORKSPACE } from '../db/workspaces/workspaces.ts'
import { findWorkspace } from './option-values.ts'
import { CommandError, type CommandContext, print, runCommand } from './run-command.ts'

const USAGE = `usage: npm run source -- list [--workspace NAME]
       npm run source -- set SOURCE [--scale LOW..HIGH|none] [--link URL] [--field NAME=OF.PATH ...] [--workspace NAME]

list  shows the sources of feedback, with the ratings seen, their scales and their fields
set   changes the settings of a source that are named, and keeps the others. --scale 0..10 says which ratings mean "as bad as possible" and
      "as good as possible"; none, that its ratings have no such meaning. Without --scale, 20 ratings show the
      scale: 1..5, or 0..10. --link is the address of a record in its source, with {sourceId} in place of its id.
      --field plan=account.plan lets feedback be filtered and counted by the property plan of its account; OF is
      feedback (its sourceData), contact or account. Give it again for each field; they replace the former fields.
Without --workspace it means ${DEFAULT_WORKSPACE}. A mean is only taken over ratings with a known scale.`

const SCALE = /^(-?\d+(?:\.\d+)?)\.\.(-?\d+(?:\.\d+)?)$/

const scaleOf = (text: string | undefined): SourceSettings['scale'] => {
  if (text === undefined) return undefined
  if (text === 'none') return null
  const [, low, high] = SCALE.exec(text) ?? []
  const scale: [number, number] = [Number(low), Number(high)]
  if (!isScale(scale)) throw new CommandError(`--scale must be none, or ${NO_SCALE}, such as 1..5.`)
  return scale
}

const linkOf = (text: string | undefined): string | undefined => {
  if (text !== undefined && !isSourceLink(text)) throw new CommandError(`--link must be ${MISPLACED_LINK}.`)
  return text
}

const FIELD = new RegExp(`^([^=]+)=(${FIELD_OWNERS.join('|')})\\.(.+)$`, 's')
const NO_FIELD =
  '--field must be NAME=OF.PATH, such as plan=account.plan. NAME has up to 64 letters, digits, _ and -, and begins ' +
  `with a letter. OF is ${FIELD_OWNERS.join(', ')}. No NAME comes twice.`

const fieldsOf = (texts: readonly string[]): DeclaredField[] => {
  const fields = texts.map((text) => {
    const [, name = '', of = '', path = ''] = FIELD.exec(text) ?? []
    if (!isFieldName(name) || !isFieldPath(path)) throw new CommandError(NO_FIELD)
    return { name, path, of: of as DeclaredField['of'] }
  })
  if (hasTwice(fields.map(({ name }) => name))) throw new CommandError(NO_FIELD)
  return fields
}

const shownFields = ({ fields }: Source): string[] =>
  fields.length === 0 ? [] : [`fields ${fields.map(({ name, of, path }) => `${name}=${of}.${path}`).join(' ')}`]

const scaleText = ({ scale, isScaleGiven }: Source): string => {
  if (scale === null) return isScaleGiven ? 'no scale, as set' : 'scale unknown'
  return `scale ${scale.join('..')}${isScaleGiven ? ', as set' : ''}`
}

const seen = ({ ratings, leastRating, mostRating }: Source): string =>
  ratings === 0 ? 'no ratings' : `${ratings} ratings from ${leastRating} to ${mostRating}`

/** The stored settings, with the named settings of the command in their place. */
const changedSettings = ({ values, valuesOf }: CommandContext, stored: Source | undefined): SourceSettings => {
  const { scale, link } = values
  const fields = fieldsOf(valuesOf('field'))
  const given = stored?.isScaleGiven ? stored.scale && ([...stored.scale] as [number, number]) : undefined
  return {
    scale: scale === undefined ? given : scaleOf(scale),
    link: linkOf(link) ?? stored?.link,
    fields: fields.length === 0 ? stored?.fields : fields,
  }
}

const workspaceOf = async ({ sql, values }: CommandContext): Promise<string> =>
  (await findWorkspace(sql, values['workspace'] ?? DEFAULT_WORKSPACE)).id

await runCommand({
  usage: USAGE,
  options: ['workspace', 'scale', 'link'],
  lists: ['field'],
  run: {
    list: async (context) => {
      for (const source of await listSources(context.sql, await workspaceOf(context))) {
        const { source: name, feedback, link } = source
        print(
          [
            name,
            `${feedback} feedback`,
            seen(source),
            scaleText(source),
            ...(link === null ? [] : [link]),
            ...shownFields(source),
          ].join('  '),
        )
      }
    },
    set: async (context, source) => {
      if (!source) throw new CommandError(USAGE)
      if (!isSourceName(source)) throw new CommandError(`SOURCE must be ${NO_SOURCE}.`)
      const workspaceId = await workspaceOf(context)
      const [stored] = await listSources(context.sql, workspaceId, { source })
      const set = await setSource(context.sql, { workspaceId, source }, changedSettings(context, stored))
      if (set === 'too-many-fields') throw new CommandError(`--field: ${TOO_MANY_FIELDS}.`)
      print('set')
    },
  },
})
