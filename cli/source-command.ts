import {
  isScale,
  isSourceLink,
  isSourceName,
  MISPLACED_LINK,
  NO_SCALE,
  NO_SOURCE,
  type SourceSettings,
} from '../contract/source-settings.ts'
import { listSources, setSource, type Source } from '../db/sources.ts'
import { DEFAULT_WORKSPACE } from '../db/workspaces/workspaces.ts'
import { findWorkspace } from './option-values.ts'
import { CommandError, type CommandContext, print, runCommand } from './run-command.ts'

const USAGE = `usage: npm run source -- list [--workspace NAME]
       npm run source -- set SOURCE [--scale LOW..HIGH|none] [--link URL] [--workspace NAME]

list  shows the sources of feedback, with the ratings seen and their scales
set   replaces the settings of a source. --scale 0..10 says which ratings mean "as bad as possible" and
      "as good as possible"; none, that its ratings have no such meaning. Without --scale, 20 ratings show the
      scale: 1..5, or 0..10. --link is the address of a record in its source, with {sourceId} in place of its id.
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

const scaleText = ({ scale, isScaleGiven }: Source): string => {
  if (scale === null) return isScaleGiven ? 'no scale, as set' : 'scale unknown'
  return `scale ${scale.join('..')}${isScaleGiven ? ', as set' : ''}`
}

const seen = ({ ratings, leastRating, mostRating }: Source): string =>
  ratings === 0 ? 'no ratings' : `${ratings} ratings from ${leastRating} to ${mostRating}`

const workspaceOf = async ({ sql, values }: CommandContext): Promise<string> =>
  (await findWorkspace(sql, values['workspace'] ?? DEFAULT_WORKSPACE)).id

await runCommand({
  usage: USAGE,
  options: ['workspace', 'scale', 'link'],
  run: {
    list: async (context) => {
      for (const source of await listSources(context.sql, await workspaceOf(context))) {
        const { source: name, feedback, link } = source
        print(
          [name, `${feedback} feedback`, seen(source), scaleText(source), ...(link === null ? [] : [link])].join('  '),
        )
      }
    },
    set: async (context, source) => {
      if (!source) throw new CommandError(USAGE)
      if (!isSourceName(source)) throw new CommandError(`SOURCE must be ${NO_SOURCE}.`)
      const { scale, link } = context.values
      await setSource(
        context.sql,
        { workspaceId: await workspaceOf(context), source },
        { scale: scaleOf(scale), link: linkOf(link) },
      )
      print('set')
    },
  },
})
