import { spawn } from 'node:child_process'
import os from 'node:os'
import path from 'node:path'
import process from 'node:process'

/** The time within which the same signal counts as a repetition. */
const REPEAT_MS = 1000
/** The interval of the checks whether the parent process, such as npm, has ended. */
const PARENT_POLL_MS = 500

/**
 * Runs a program with the pinned Node until it ends, and passes signals on to it.
 *
 * Ctrl-C reaches every process of the terminal, and npm forwards some signals a second time. A program that drains must not take
 * this repetition for a second Ctrl-C. So the program runs in a session of its own, and gets signals only from here. A signal that
 * is repeated within a second is dropped, and a later one is passed on. SIGHUP is passed on as SIGTERM. When npm has ended, the
 * program gets a SIGTERM too. When this process has ended, stop-with-bootstrap.mjs stops the program.
 *
 * @param {string} root
 * @param {string} file relative to `root`
 * @param {string[]} args
 * @returns {Promise<number>} the exit code of the program; 128 plus the number of the signal if one ended it
 */
export function runPinned(root, file, args) {
  const bin = path.join(root, 'node_modules', '.bin')
  const preload = new URL('./stop-with-bootstrap.mjs', import.meta.url).href
  const child = spawn(path.join(bin, 'node'), ['--import', preload, path.join(root, file), ...args], {
    cwd: root,
    env: {
      ...process.env,
      PATH: [bin, process.env['PATH']].join(path.delimiter),
      // The pipe in `stdio`, for stop-with-bootstrap.mjs.
      PLAINPATH_LIFELINE: '3',
      TURBO_TELEMETRY_DISABLED: '1',
      DO_NOT_TRACK: '1',
    },
    stdio: ['inherit', 'inherit', 'inherit', 'pipe'],
    detached: true,
  })
  child.stdio[3]?.on('error', () => {})

  /** @type {Map<NodeJS.Signals, number>} */
  const lastReceivedAt = new Map()
  /** @param {NodeJS.Signals} signal */
  const passOn = (signal) => {
    const now = Date.now()
    const isRepetition = now - (lastReceivedAt.get(signal) ?? Number.NEGATIVE_INFINITY) < REPEAT_MS
    lastReceivedAt.set(signal, now)
    if (!isRepetition) child.kill(signal)
  }
  process.on('SIGINT', () => passOn('SIGINT'))
  process.on('SIGTERM', () => passOn('SIGTERM'))
  process.on('SIGHUP', () => passOn('SIGTERM'))
  const parent = process.ppid
  const parentCheck = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(parentCheck)
    passOn('SIGTERM')
  }, PARENT_POLL_MS).unref()

  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('exit', (code, signal) => resolve(code ?? 128 + os.constants.signals[signal ?? 'SIGTERM']))
  })
}
