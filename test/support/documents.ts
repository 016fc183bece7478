import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, sep } from 'node:path'

/** A Markdown file of the repository; `path` from its top, with slashes. */
export type Document = { readonly path: string; readonly text: string }

const TOP = ['README.md', 'SECURITY.md', 'CHANGELOG.md', 'CONTRIBUTING.md']
const FOLDERS = [
  'docs',
  'api',
  'bench',
  'cli',
  'client',
  'contract',
  'db',
  'demo',
  'health',
  'queue',
  'runtime',
  'tagger',
  'test',
  'tools',
  'worker',
]

/** All documents: at the top, in `docs/`, and in the rooms. */
export const readDocuments = (root: string): Document[] => {
  const inFolders = FOLDERS.filter((folder) => existsSync(join(root, folder))).flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md'))
      .map((name) => `${folder}/${name.split(sep).join('/')}`),
  )
  return [...TOP.filter((path) => existsSync(join(root, path))), ...inFolders.toSorted()].map((path) => ({
    path,
    text: readFileSync(join(root, path), 'utf8'),
  }))
}

/** The documents whose commands are run: the README and its targets. */
export const readManual = (root: string): Document[] =>
  readDocuments(root).filter(({ path }) => path === 'README.md' || path.startsWith('docs/'))
