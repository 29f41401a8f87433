import { execFileSync } from 'node:child_process'
import path from 'node:path'
import { expect, test } from 'vitest'
import { reserveFreePorts } from './free-ports.ts'

/** Prints 1,000 of the 12,000 ports. Without reservations, about 80 of them would be among those of this process. */
const program = `
  import { reserveFreePorts } from ${JSON.stringify(path.join(import.meta.dirname, 'free-ports.ts'))}
  console.log(JSON.stringify(await reserveFreePorts(1_000)))
`

test('returns different ports to two running processes, even before anything listens on them', async () => {
  const ourPorts = await reserveFreePorts(1_000)
  const theirPorts = JSON.parse(
    execFileSync(process.execPath, ['--input-type=module-typescript', '-e', program], { encoding: 'utf8' }),
  ) as number[]
  expect(new Set([...ourPorts, ...theirPorts]).size).toBe(2_000)
})
