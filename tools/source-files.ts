import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, sep } from 'node:path'

export type TextFile = {
  /** The path from the top of the project, with slashes. */
  readonly path: string
  readonly text: string
}

/** The folders with our code. The check of READMEs misses a room that has no folder. */
export const SOURCES = [
  'alerts',
  'api',
  'bench',
  'cli',
  'client',
  'contract',
  'fold',
  'db',
  'demo',
  'docs/recipes',
  'health',
  'insights',
  'queue',
  'runtime',
  'meaning',
  'tagger',
  'test',
  'tools',
  'worker',
].filter((folder) => existsSync(new URL(`../${folder}`, import.meta.url)))

/** All our TypeScript files. Found without git, so that tests also run from an unpacked archive. */
export const readSourceFiles = (root: string): TextFile[] => {
  return SOURCES.flatMap((name) => listFolder(root, name))
    .filter((path) => path.endsWith('.ts'))
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))
}

const listFolder = (root: string, folder: string): string[] => {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map(
    (path) => `${folder}/${path.split(sep).join('/')}`,
  )
}
