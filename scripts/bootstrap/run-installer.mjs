import { spawn } from 'node:child_process'
import os from 'node:os'
import process from 'node:process'
import { Refusal } from './refusal.mjs'

export const INSTALL_LIMIT_SECONDS = 900
const QUIET_SECONDS = 30
const KILL_AFTER_SECONDS = 5
const SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])

/**
 * Runs the pinned pnpm, brought by npx. Its output is shown from `QUIET_SECONDS` on: then somebody wonders what it does.
 *
 * @param {string} root
 * @param {string} packageManager such as `pnpm@12.21.0`
 * @returns {Promise<{ code: number | string, output: string, shown: boolean }>} `code` may be the name of a signal
 * @throws {Refusal} when npx cannot be started, or a signal asks us to stop.
 */
export function runInstaller(root, packageManager) {
  const npx = ['--yes', '--prefer-offline', '--fetch-retries=1', `--package=${packageManager}`, '--', 'pnpm']
  const pnpm = [
    'install',
    '--frozen-lockfile',
    '--reporter=append-only',
    '--config.confirmModulesPurge=false',
  ]
  let end = () => {}
  // Before there is a child: a signal that came right after would end us and leave it running.
  const stopListening = onFirstSignal(() => end())
  // A group of its own, so that it can be ended whole: npx does not pass every signal on.
  const child = spawn('npx', [...npx, ...pnpm], {
    cwd: root,
    env: { ...process.env, npm_config_update_notifier: 'false' },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  return new Promise((resolve, reject) => {
    const transcript = collect([child.stdout, child.stderr])
    end = () => {
      killGroup(child.pid, 'SIGTERM')
      setTimeout(() => killGroup(child.pid, 'SIGKILL'), KILL_AFTER_SECONDS * 1000).unref()
    }
    const timers = [
      setTimeout(transcript.show, QUIET_SECONDS * 1000),
      setTimeout(end, INSTALL_LIMIT_SECONDS * 1000),
    ]
    child.on('error', () =>
      reject(new Refusal('\nPlainpath needs npm: its program `npx` could not be started.')),
    )
    child.on('close', (code, killedBy) => {
      for (const timer of timers) clearTimeout(timer)
      const signal = stopListening()
      if (signal) reject(new Refusal('stopped.', 128 + os.constants.signals[signal]))
      else resolve({ code: code ?? String(killedBy), output: transcript.text(), shown: transcript.isShown() })
    })
  })
}

/** @param {import('node:stream').Readable[]} streams */
function collect(streams) {
  let text = ''
  let shown = false
  for (const stream of streams)
    stream.setEncoding('utf8').on('data', (/** @type {string} */ chunk) => {
      text += chunk
      if (shown) process.stderr.write(chunk)
    })
  return {
    text: () => text,
    isShown: () => shown,
    show() {
      shown = true
      process.stderr.write(`\n${text}`)
    },
  }
}

/** @param {number | undefined} pid @param {NodeJS.Signals} signal */
function killGroup(pid, signal) {
  try {
    if (pid !== undefined) process.kill(-pid, signal)
  } catch {
    // It ended by itself.
  }
}

/**
 * @param {() => void} act
 * @returns {() => typeof SIGNALS[number] | undefined} stops listening and tells which signal came first
 */
function onFirstSignal(act) {
  /** @type {typeof SIGNALS[number] | undefined} */
  let first
  /** @param {NodeJS.Signals} signal */
  const listener = (signal) => {
    if (first) return
    first = SIGNALS.find((known) => known === signal)
    act()
  }
  for (const signal of SIGNALS) process.on(signal, listener)
  return () => {
    for (const signal of SIGNALS) process.off(signal, listener)
    return first
  }
}
