import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { format, resolveConfig } from 'prettier'
import { type ApiReference, typesOf } from './types-of.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const TYPES_FILE = join(root, 'client', 'types.ts')
const NAME = 'feedback-insights-client'

/** The text of client/types.ts, made from the reference in api/openapi/openapi.json. */
export const typesText = async (): Promise<string> => {
  const reference = JSON.parse(readFileSync(join(root, 'api', 'openapi', 'openapi.json'), 'utf8')) as ApiReference
  return format(typesOf(reference), { ...(await resolveConfig(TYPES_FILE)), filepath: TYPES_FILE })
}

export const writeTypes = async (): Promise<void> => writeFileSync(TYPES_FILE, await typesText())

/**
 * Compiles the client, and packs it into the folder at an absolute path. Returns the path of the
 * archive.
 */
export const makePackage = async (outDir: string): Promise<string> => {
  const directory = mkdtempSync(join(tmpdir(), `${NAME}-`))
  try {
    compile({ from: 'client', include: '*.ts', to: directory })
    // The rules stand in one place, and the recipes get them with the package.
    compile({ from: 'contract/identity', include: 'placeholders.ts', to: directory })
    useEmittedNames(directory)
    const { version, license } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest
    writeFileSync(
      join(directory, 'package.json'),
      `${JSON.stringify(manifestOf({ version, license }), undefined, 2)}\n`,
    )
    cpSync(join(root, 'LICENSE'), join(directory, 'LICENSE'))
    cpSync(join(root, 'client', 'package-readme.md'), join(directory, 'README.md'))
    mkdirSync(outDir, { recursive: true })
    // This program runs on Bun; npm may be missing.
    run(['pm', 'pack', '--quiet', '--destination', outDir], directory)
    return join(outDir, `${NAME}-${version}.tgz`)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

type Manifest = { readonly version: string; readonly license: string }

const manifestOf = ({ version, license }: Manifest): object => ({
  name: NAME,
  version,
  license,
  description: 'Client of Feedback Insights: types and calls of all operations, with retries that count once.',
  type: 'module',
  exports: {
    '.': { types: './client.d.ts', default: './client.js' },
    './placeholders': { types: './placeholders.d.ts', default: './placeholders.js' },
  },
  bin: { 'feedback-insights-mcp': './mcp-command.js' },
  engines: { node: '>=20' },
})

const compile = ({ from, include, to }: { from: string; include: string; to: string }): void => {
  const settings = {
    compilerOptions: {
      strict: true,
      exactOptionalPropertyTypes: true,
      target: 'es2022',
      lib: ['es2022', 'dom', 'dom.iterable'],
      module: 'nodenext',
      types: [],
      declaration: true,
      rewriteRelativeImportExtensions: true,
      rootDir: join(root, from),
      outDir: to,
    },
    include: [join(root, from, include)],
  }
  const project = join(to, 'tsconfig.json')
  writeFileSync(project, JSON.stringify(settings))
  run([join(root, 'node_modules', 'typescript', 'bin', 'tsc'), '--project', project], root)
  rmSync(project)
}

/**
 * The compiler rewrites imports only in .js files, and older compilers do not resolve the .ts paths
 * that remain in .d.ts files.
 */
const useEmittedNames = (directory: string): void => {
  for (const name of readdirSync(directory).filter((file) => file.endsWith('.d.ts'))) {
    const file = join(directory, name)
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll(/(from '\.\/\w+)\.ts'/g, "$1.js'"))
  }
}

/** Runs the Bun of this process with these words, since `node` may be missing. */
const run = (words: readonly string[], cwd: string): void => {
  const { status, stdout, stderr, error } = spawnSync(process.execPath, words, { cwd, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${words.join(' ')} failed:\n${stdout}${stderr}${error?.message ?? ''}`)
}
