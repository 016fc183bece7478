import { moveLike, readExamples, readLike } from '../db/tags/place-like.ts'
import { DEFAULT_WORKSPACE } from '../db/workspaces/workspaces.ts'
import { themeCell } from '../meaning/cells.ts'
import { fitExamples, SURE_PLACE } from '../meaning/place-like.ts'
import { findWorkspace } from './option-values.ts'
import { CommandError, print, runCommand } from './run-command.ts'

const USAGE = `usage: npm run theme -- place [--workspace NAME]

place  puts feedback into themes like the feedback that people have put there (POST and PATCH /themes). It moves feedback
       that was placed by its likeness to other texts, and only where it is sure. Twenty texts for each theme are a good
       start. Feedback that a tag or a person placed stays.
Without --workspace it means ${DEFAULT_WORKSPACE}.`

await runCommand({
  usage: USAGE,
  options: ['workspace'],
  run: {
    place: async ({ sql, values }) => {
      const workspace = await findWorkspace(sql, values['workspace'] ?? DEFAULT_WORKSPACE)
      const examples = await readExamples(sql, workspace.id)
      const placeLike = fitExamples(examples)
      if (placeLike === undefined)
        throw new CommandError('People have to put feedback into at least two themes first: PATCH /themes/{id}.')
      let looked = 0
      let moved = 0
      for await (const page of readLike(sql, workspace.id)) {
        const sure = page.flatMap(({ id, terms, theme }) => {
          const like = placeLike(terms)
          if (like.probability < SURE_PLACE || like.theme === theme) return []
          return { id, theme: like.theme, cell: themeCell({ theme: like.theme, by: 'likeness' }) }
        })
        looked += page.length
        moved += await moveLike(sql, workspace.id, sure)
      }
      print(`examples of people: ${examples.length}`)
      print(`placed by likeness: ${looked}, moved: ${moved}`)
    },
  },
})
