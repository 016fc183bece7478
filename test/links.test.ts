import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join, posix } from 'node:path'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { readSourceFiles } from '../tools/source-files.ts'
import { readDocuments } from './support/readme-commands.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const documents = readDocuments(root)

const withoutBlocks = (markdown: string): string => markdown.replaceAll(/^```[\s\S]*?^```$/gm, '')

/** The anchors of the headings of a document, in the form of GitHub. */
const anchorsOf = (markdown: string): Set<string> => {
  const anchors = new Set<string>()
  for (const [, heading = ''] of withoutBlocks(markdown).matchAll(/^#{1,6} +(.+)$/gm)) {
    const plain = heading.replaceAll(/\]\([^)]*\)/g, '').toLowerCase()
    const name = plain.replaceAll(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-')
    let anchor = name
    for (let more = 1; anchors.has(anchor); more += 1) anchor = `${name}-${more}`
    anchors.add(anchor)
  }
  return anchors
}

const linksIn = (markdown: string): string[] =>
  [...withoutBlocks(markdown).matchAll(/\]\(([^()\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target))

/** Why a link of a document has no target; undefined if it has one. */
const fault = (from: string, link: string): string | undefined => {
  const [file = '', anchor] = link.split('#')
  const path = file === '' ? from : posix.join(posix.dirname(from), file)
  if (file.startsWith('/') || path.startsWith('..')) return 'leaves the repository'
  if (!existsSync(join(root, path))) return 'there is no such file'
  if (anchor === undefined) return undefined
  const target = documents.find((document) => document.path === path)
  if (target === undefined) return 'has an anchor into a file that is not a document'
  return anchorsOf(target.text).has(anchor) ? undefined : 'there is no such heading'
}

/**
 * A file or folder of the repository by its path from the top. Names without one of these folders
 * are ignored.
 */
const OUR_PATH =
  /^(?:api|bench|cli|client|contract|db|demo|docs|health|queue|runtime|tagger|test|tools|worker)\/[\w./-]*(?:\.[a-z]+|\/)$/

describe('the documents', () => {
  it('have anchors in the form of GitHub', () => {
    const anchors = anchorsOf('# A `b` & c\n## Who may: reach it?\n## A b  c\n```sh\n# no\n```\n## Über')
    assert.deepEqual([...anchors], ['a-b--c', 'who-may-reach-it', 'a-b--c-1', 'über'])
  })

  for (const { path, text } of documents) {
    it(`have targets for all links in ${path}`, () => {
      const faults = linksIn(text).flatMap((link) => {
        const why = fault(path, link)
        return why === undefined ? [] : [`${link}: ${why}`]
      })
      assert.deepEqual(faults, [])
    })
  }

  // The changelog may name removed files.
  for (const { path, text } of documents.filter((document) => document.path !== 'CHANGELOG.md')) {
    it(`name only existing files in ${path}`, () => {
      const named = [...withoutBlocks(text).matchAll(/`([^`\n]+)`/g)].map(([, quoted = '']) => quoted)
      assert.deepEqual(
        named.filter((name) => OUR_PATH.test(name) && !existsSync(join(root, name))),
        [],
      )
    })
  }

  it('exist if the code names them', () => {
    const named = readSourceFiles(root).flatMap(({ path, text }) =>
      [...text.matchAll(/\bdocs\/[\w/-]+\.md\b/g)].map(([name]) => ({ path, name })),
    )
    assert.ok(named.length > 0)
    assert.deepEqual(
      named.filter(({ name }) => !existsSync(join(root, name))),
      [],
    )
  })
})
