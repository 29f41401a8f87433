import { expect, test } from 'vitest'
import { type SupervisedProcess, superviseProcess } from './supervise-process.ts'

/** Creates a process that the test can end with `end`, for the given reason. The first `failureCount` restarts fail. */
function createEndableProcess(failureCount = 0) {
  let crash = Promise.withResolvers<string>()
  let startCount = 0
  const supervised: SupervisedProcess = {
    name: 'auth-1',
    logFile: '/auth-1.log',
    waitForCrash: () => crash.promise,
    async start() {
      startCount += 1
      if (startCount <= failureCount) throw new Error('auth-1 ended (1):\nthe end of its output')
      crash = Promise.withResolvers()
    },
  }
  return { supervised, end: (reason: string) => crash.resolve(reason), countStarts: () => startCount }
}

test('a process that ends by itself is announced and restarted, with a pause that doubles', async () => {
  const lines: string[] = []
  const { supervised, end } = createEndableProcess(2)
  using _ = superviseProcess(supervised, {
    print: (line) => lines.push(line),
    shouldRestart: true,
    firstPauseMs: 1,
  })
  end('exit code 1')
  const expected = [
    'auth-1 ended unexpectedly (exit code 1), see /auth-1.log. It will be restarted in 0.001 s.',
    'auth-1 cannot be restarted (auth-1 ended (1)), see /auth-1.log. It will be restarted in 0.002 s.',
    'auth-1 cannot be restarted (auth-1 ended (1)), see /auth-1.log. It will be restarted in 0.004 s.',
    'auth-1 is running again.',
  ]
  await expect.poll(() => lines).toEqual(expected)
  // The pause doubles again, because the process has run for less than a minute.
  end('signal SIGKILL')
  await expect
    .poll(() => lines.slice(expected.length))
    .toEqual([
      'auth-1 ended unexpectedly (signal SIGKILL), see /auth-1.log. It will be restarted in 0.008 s.',
      'auth-1 is running again.',
    ])
})

test('an ended process is announced and not started again if restarts are off', async () => {
  const { supervised, end, countStarts } = createEndableProcess()
  const lines: string[] = []
  using _ = superviseProcess(supervised, {
    print: (line) => lines.push(line),
    shouldRestart: false,
    firstPauseMs: 1,
  })
  end('exit code 0')
  await expect.poll(() => lines.length).toBeGreaterThan(0)
  expect(lines).toEqual([
    'auth-1 ended unexpectedly (exit code 0), see /auth-1.log. It will not be restarted (--no-restart).',
  ])
  expect(countStarts()).toBe(0)
})

test('a process whose supervision has ended is not restarted', async () => {
  const { supervised, end, countStarts } = createEndableProcess()
  const announced = Promise.withResolvers<string>()
  const supervision = superviseProcess(supervised, {
    print: announced.resolve,
    shouldRestart: true,
    firstPauseMs: 20,
  })
  end('exit code 1')
  await announced.promise
  supervision[Symbol.dispose]()
  // Another process, whose pause is longer, is restarted meanwhile.
  const other = createEndableProcess()
  using _ = superviseProcess(other.supervised, { print: () => {}, shouldRestart: true, firstPauseMs: 100 })
  other.end('exit code 1')
  await expect.poll(other.countStarts).toBe(1)
  expect(countStarts()).toBe(0)
})
