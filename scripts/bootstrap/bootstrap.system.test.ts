import { rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Checkout, createCheckout } from './checkout.fixture.ts'

const PROGRAM_EXIT_CODE = 7

let checkout: Checkout
beforeEach(() => {
  checkout = createCheckout()
  checkout.write(
    'print-arguments.mjs',
    `console.log(JSON.stringify([process.cwd(), process.argv.slice(2)])); process.exitCode = ${PROGRAM_EXIT_CODE}`,
  )
})
afterEach(() => checkout[Symbol.dispose]())

describe('the bootstrap as an installer', () => {
  const countInstallations = () => checkout.readCalls().filter((call) => call.startsWith('pnpm ')).length

  it('installs once with the pinned pnpm, then runs the program at the root and returns its exit code', async () => {
    const firstRun = await checkout.start(['print-arguments.mjs', 'a b', '--c']).result
    expect(firstRun.stderr).toMatch(/^Installing pinned dependencies … \d+\.\d s\n$/)
    expect(JSON.parse(firstRun.stdout)).toEqual([checkout.root, ['a b', '--c']])
    expect(firstRun.code).toBe(PROGRAM_EXIT_CODE)

    expect((await checkout.start(['print-arguments.mjs']).result).stderr).toBe('')
    expect(checkout.readCalls()).toEqual([
      expect.stringMatching(/^npm ci --ignore-scripts /),
      expect.stringMatching(/^pnpm install --frozen-lockfile /),
    ])
  })

  it.each([
    ['the root manifest', 'package.json', JSON.stringify({ packageManager: 'pnpm@1.2.4' })],
    ['the lockfile', 'pnpm-lock.yaml', 'changed'],
    ['the manifest of a workspace package', 'packages/one/package.json', '{}'],
    ['the set of workspace packages', 'e2e/package.json', '{}'],
    ['`node_modules`, by a plain `npm install`', 'node_modules/.package-lock.json', '{}'],
  ])('installs again after a change of %s', async (_, file, content) => {
    await checkout.start(['print-arguments.mjs']).result
    checkout.write(file, content)
    await checkout.start(['print-arguments.mjs']).result
    await checkout.start(['print-arguments.mjs']).result
    expect(countInstallations()).toBe(2)
  })

  it.each(['node_modules/.bin/node', 'packages/one/node_modules'])(
    'installs again if %s is missing',
    async (missingPath) => {
      await checkout.start(['print-arguments.mjs']).result
      rmSync(path.join(checkout.root, missingPath), { recursive: true })
      expect((await checkout.start(['print-arguments.mjs']).result).code).toBe(PROGRAM_EXIT_CODE)
      expect(countInstallations()).toBe(2)
    },
  )

  it('lets one of several simultaneous calls install while the others wait', async () => {
    const results = await Promise.all([1, 2, 3].map(() => checkout.start(['print-arguments.mjs']).result))
    expect(results.map(({ code }) => code)).toEqual([PROGRAM_EXIT_CODE, PROGRAM_EXIT_CODE, PROGRAM_EXIT_CODE])
    expect(countInstallations()).toBe(1)
  })

  it.each(['NPM_ERROR', 'PNPM_ERROR'])(
    'says in its last line that the registry cannot be reached, and installs on the next run: %s',
    async (variable) => {
      const failed = await checkout.start(['print-arguments.mjs'], {
        [variable]: 'request failed: ENOTFOUND',
      }).result
      expect(failed.code).toBe(1)
      expect(failed.stdout).toBe('')
      expect(failed.stderr).toMatch(
        /^Installing .*failed\n\nrequest failed: ENOTFOUND\n\nCould not install .*registry cannot be reached.*\n$/,
      )
      expect((await checkout.start(['print-arguments.mjs']).result).code).toBe(PROGRAM_EXIT_CODE)
    },
  )

  it('shows the output of pnpm if it fails for another reason', async () => {
    const failed = await checkout.start(['print-arguments.mjs'], { PNPM_ERROR: 'ERR_PNPM_OUTDATED_LOCKFILE' })
      .result
    expect(failed.stderr).toMatch(
      /ERR_PNPM_OUTDATED_LOCKFILE\n\nCould not install .*pnpm exited with 1\. See the output above\.\n$/,
    )
  })

  it('says that npm is needed if there is none', async () => {
    const failed = await checkout.start(['print-arguments.mjs'], { PATH: '/nowhere' }).result
    expect(failed).toMatchObject({ code: 1, stderr: expect.stringMatching(/Plainpath needs npm.*\n$/) })
  })

  it('stops on a signal during an installation, and leaves nothing that blocks the next start', async () => {
    const fakePnpmScript = checkout.read('fake/pnpm')
    checkout.write('fake/pnpm', `#!/bin/sh\necho "pnpm installing" >> "$CALLS"\nsleep 60`)
    const stopped = checkout.start(['print-arguments.mjs'])
    await expect.poll(countInstallations).toBe(1)
    stopped.process.kill('SIGTERM')
    // 128 plus 15, the number of SIGTERM.
    expect(await stopped.result).toMatchObject({ code: 143, stdout: '' })

    checkout.write('fake/pnpm', fakePnpmScript)
    expect((await checkout.start(['print-arguments.mjs']).result).code).toBe(PROGRAM_EXIT_CODE)
  })
})

describe('the bootstrap as a parent process', () => {
  /**
   * A program that writes `ready` and each signal into events.log. It ends only 300 ms after a signal, so that a signal that is
   * sent again can still reach it.
   */
  const DRAINING_PROGRAM = `
    import { appendFileSync } from 'node:fs'
    const record = (line) => appendFileSync('events.log', line + '\\n')
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
      process.on(signal, () => { record(signal); setTimeout(() => process.exit(0), 300) })
    setInterval(() => {}, 1000)
    record('ready')`
  const readEvents = () => checkout.read('events.log').split('\n').filter(Boolean)

  beforeEach(async () => {
    await checkout.start(['print-arguments.mjs']).result
    writeFileSync(path.join(checkout.root, 'events.log'), '')
    checkout.write('drains.mjs', DRAINING_PROGRAM)
  })

  it.each([
    ['SIGINT', 'SIGINT'],
    ['SIGTERM', 'SIGTERM'],
    ['SIGHUP', 'SIGTERM'],
  ] as const)('passes %s on once, as %s, and waits for the program to drain', async (sent, received) => {
    const started = checkout.start(['drains.mjs'])
    await expect.poll(readEvents).toEqual(['ready'])
    started.process.kill(sent)
    await expect.poll(readEvents).toHaveLength(2)
    started.process.kill(sent)
    expect((await started.result).code).toBe(0)
    expect(readEvents()).toEqual(['ready', received])
  })

  it('stops the program when the bootstrap is killed', async () => {
    const started = checkout.start(['drains.mjs'])
    await expect.poll(readEvents).toEqual(['ready'])
    started.process.kill('SIGKILL')
    await started.result
    await expect.poll(readEvents).toEqual(['ready', 'SIGTERM'])
  })

  it('stops the program when npm has ended', async () => {
    // A first bootstrap runs grandparent.mjs, which starts npm.mjs. npm.mjs stands in for npm: it starts a second bootstrap, which
    // runs drains.mjs. Once drains.mjs is ready, grandparent.mjs kills npm.mjs.
    checkout.write(
      'npm.mjs',
      `
      import { spawn } from 'node:child_process'
      spawn(process.execPath, ['scripts/bootstrap.mjs', 'drains.mjs'], { stdio: 'ignore' })`,
    )
    checkout.write(
      'grandparent.mjs',
      `
      import { spawn } from 'node:child_process'
      import { readFileSync } from 'node:fs'
      const npm = spawn(process.execPath, ['npm.mjs'], { stdio: 'ignore' })
      const pollTimer = setInterval(() => {
        if (!readFileSync('events.log', 'utf8').includes('ready')) return
        clearInterval(pollTimer)
        npm.kill('SIGKILL')
      }, 20)`,
    )
    await checkout.start(['grandparent.mjs']).result
    // The bootstrap checks every 500 ms whether its parent has ended.
    await expect.poll(readEvents, { timeout: 3000 }).toEqual(['ready', 'SIGTERM'])
  })

  it('exits with 128 plus the signal number, like a shell, if a signal ends the program', async () => {
    checkout.write('kills-itself.mjs', `process.kill(process.pid, 'SIGKILL')`)
    // 128 plus 9, the number of SIGKILL.
    expect((await checkout.start(['kills-itself.mjs']).result).code).toBe(137)
  })
})
