import process from 'node:process'
import { pathToFileURL } from 'node:url'

// Prints, as JSON, what each given program prints for `--help`, and with which code it ends. The
// programs run in this process, since they share most of their modules.

type Said = { code: unknown; stdout: string; stderr: string }

const programs = process.argv.splice(2, 1_000, '--help')
const print = process.stdout.write.bind(process.stdout)
const exit = process.exit.bind(process)

// Each program adds a listener.
process.stdout.setMaxListeners(0)

const runHere = async (program: string): Promise<Said> => {
  const said: Said = { code: undefined, stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    process[name].write = (text: unknown, ...more: (string | (() => void) | undefined)[]) => {
      // A program goes on to its `catch` after an exit that throws.
      if (said.code === undefined) said[name] += String(text)
      for (const done of more) if (typeof done === 'function') done()
      return true
    }
  console.log = (text) => void process.stdout.write(`${text}\n`)
  process.exit = (code) => {
    said.code ??= code
    throw new Error('The program has ended.')
  }
  await import(pathToFileURL(program).href).catch((error: unknown) => {
    if (said.code === undefined) said.stderr += String(error)
  })
  return { ...said, code: said.code ?? process.exitCode ?? 0 }
}

const all: Record<string, Said> = {}
for (const program of programs) all[program] = await runHere(program)
print(JSON.stringify(all), () => exit(0))
