import { rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Checkout, createCheckout } from './checkout.fixture.ts'

let checkout: Checkout
beforeEach(() => {
  checkout = createCheckout()
  checkout.write(
    'hello.mjs',
    `console.log(JSON.stringify([process.cwd(), process.argv.slice(2)])); process.exitCode = 7`,
  )
})
afterEach(() => checkout[Symbol.dispose]())

describe('the bootstrap as an installer', () => {
  const countInstallations = () => checkout.readCalls().filter((call) => call.startsWith('pnpm ')).length

  it('installs once with the pinned pnpm, then runs the program at the root and returns its exit code', async () => {
    const firstRun = await checkout.start(['hello.mjs', 'a b', '--c']).result
    expect(firstRun.stderr).toMatch(/^Installing pinned dependencies … \d+\.\d s\n$/)
    expect(JSON.parse(firstRun.stdout)).toEqual([checkout.root, ['a b', '--c']])
    expect(firstRun.code).toBe(7)

    expect((await checkout.start(['hello.mjs']).result).stderr).toBe('')
    expect(checkout.readCalls()).toEqual([
      expect.stringMatching(/^npm ci --ignore-scripts /),
      expect.stringMatching(/^pnpm install --frozen-lockfile /),
    ])
  })

  it.each([
    ['the root manifest', 'package.json', JSON.stringify({ packageManager: 'pnpm@1.2.4' })],
    ['the lockfile', 'pnpm-lock.yaml', 'changed'],
    ['a manifest of the workspace', 'packages/one/package.json', '{}'],
    ['the list of packages', 'e2e/package.json', '{}'],
    ['the tree, by npm install', 'node_modules/.package-lock.json', '{}'],
  ])('installs again after a change of %s', async (_, file, content) => {
    await checkout.start(['hello.mjs']).result
    checkout.write(file, content)
    await checkout.start(['hello.mjs']).result
    await checkout.start(['hello.mjs']).result
    expect(countInstallations()).toBe(2)
  })

  it.each(['node_modules/.bin/node', 'packages/one/node_modules'])(
    'installs again without %s',
    async (missingPath) => {
      await checkout.start(['hello.mjs']).result
      rmSync(path.join(checkout.root, missingPath), { recursive: true })
      expect((await checkout.start(['hello.mjs']).result).code).toBe(7)
      expect(countInstallations()).toBe(2)
    },
  )

  it('lets one of several simultaneous calls install while the others wait', async () => {
    const results = await Promise.all([1, 2, 3].map(() => checkout.start(['hello.mjs']).result))
    expect(results.map(({ code }) => code)).toEqual([7, 7, 7])
    expect(countInstallations()).toBe(1)
  })

  it.each(['NPM_ERROR', 'PNPM_ERROR'])(
    'says in its last line that the registry does not respond, and installs at the next try: %s',
    async (variable) => {
      const failed = await checkout.start(['hello.mjs'], { [variable]: 'request failed: ENOTFOUND' }).result
      expect(failed.code).toBe(1)
      expect(failed.stdout).toBe('')
      expect(failed.stderr).toMatch(
        /^Installing .*failed\n\nrequest failed: ENOTFOUND\n\nCould not install .*registry does not answer.*\n$/,
      )
      expect((await checkout.start(['hello.mjs']).result).code).toBe(7)
    },
  )

  it('shows the output of pnpm if it fails for another reason', async () => {
    const failed = await checkout.start(['hello.mjs'], { PNPM_ERROR: 'ERR_PNPM_OUTDATED_LOCKFILE' }).result
    expect(failed.stderr).toMatch(
      /ERR_PNPM_OUTDATED_LOCKFILE\n\nCould not install .*pnpm exited with 1, and says why above\.\n$/,
    )
  })

  it('says that npm is needed if there is none', async () => {
    const failed = await checkout.start(['hello.mjs'], { PATH: '/nowhere' }).result
    expect(failed).toMatchObject({ code: 1, stderr: expect.stringMatching(/Plainpath needs npm.*\n$/) })
  })

  it('stops on a signal during an installation, and leaves nothing that blocks the next start', async () => {
    const pnpm = checkout.read('fake/pnpm')
    checkout.write('fake/pnpm', `#!/bin/sh\necho "pnpm installing" >> "$CALLS"\nsleep 60`)
    const stopped = checkout.start(['hello.mjs'])
    await expect.poll(countInstallations).toBe(1)
    stopped.process.kill('SIGTERM')
    expect(await stopped.result).toMatchObject({ code: 143, stdout: '' })

    checkout.write('fake/pnpm', pnpm)
    expect((await checkout.start(['hello.mjs']).result).code).toBe(7)
  })
})

describe('the bootstrap as a parent process', () => {
  const DRAINING_PROGRAM = `
    import { appendFileSync } from 'node:fs'
    const say = (line) => appendFileSync('said', line + '\\n')
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
      process.on(signal, () => { say(signal); setTimeout(() => process.exit(0), 300) })
    setInterval(() => {}, 1000)
    say('ready')`
  const readLines = () => checkout.read('said').split('\n').filter(Boolean)

  beforeEach(async () => {
    await checkout.start(['hello.mjs']).result
    writeFileSync(path.join(checkout.root, 'said'), '')
    checkout.write('drains.mjs', DRAINING_PROGRAM)
  })

  it.each([
    ['SIGINT', 'SIGINT'],
    ['SIGTERM', 'SIGTERM'],
    ['SIGHUP', 'SIGTERM'],
  ] as const)('passes %s on once, as %s, and waits for the program to drain', async (sent, received) => {
    const started = checkout.start(['drains.mjs'])
    await expect.poll(readLines).toEqual(['ready'])
    started.process.kill(sent)
    await expect.poll(readLines).toHaveLength(2)
    started.process.kill(sent)
    expect((await started.result).code).toBe(0)
    expect(readLines()).toEqual(['ready', received])
  })

  it('stops the program when the bootstrap is killed', async () => {
    const started = checkout.start(['drains.mjs'])
    await expect.poll(readLines).toEqual(['ready'])
    started.process.kill('SIGKILL')
    await started.result
    await expect.poll(readLines).toEqual(['ready', 'SIGTERM'])
  })

  it('stops the program when npm has ended', async () => {
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
      const watch = setInterval(() => {
        if (!readFileSync('said', 'utf8').includes('ready')) return
        clearInterval(watch)
        npm.kill('SIGKILL')
      }, 20)`,
    )
    await checkout.start(['grandparent.mjs']).result
    await expect.poll(readLines, { timeout: 3000 }).toEqual(['ready', 'SIGTERM'])
  })

  it('reports the signal that ended the program as a shell does', async () => {
    checkout.write('dies.mjs', `process.kill(process.pid, 'SIGKILL')`)
    expect((await checkout.start(['dies.mjs']).result).code).toBe(137)
  })
})
