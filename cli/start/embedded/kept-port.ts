import { writeFileSync } from 'node:fs'
import { findFreePort, isPortFree } from './free-port.ts'
import { readIfThere } from './kept-file.ts'

/** The wanted port if there is one; else the port of the last start if it is still free; else any free one. */
export const choosePort = async (file: string, wanted: number | undefined): Promise<number> => {
  if (wanted !== undefined) {
    if (await isPortFree(wanted)) return wanted
    throw new Error(`port ${wanted} is taken`)
  }
  const last = Number(readIfThere(file))
  const port = await findFreePort(Number.isInteger(last) && last > 0 && last < 65_536 ? last : undefined)
  writeFileSync(file, `${port}\n`)
  return port
}
