#!/usr/bin/env node
/**
 * The way into every npm script: installs what the lockfile pins, then runs a program with the pinned Node, from the
 * root of the checkout and with the root's programs first on PATH.
 *
 *     node scripts/bootstrap.mjs <file, relative to the root> [arguments…]
 *
 * The machine's own Node runs this file and those in bootstrap/, so they use the API of Node 20 and no dependency.
 * Everything said here goes to stderr: the output of the program stays clean.
 */
import path from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { ensureInstalled } from './bootstrap/install.mjs'
import { checkMachine, Refusal } from './bootstrap/machine.mjs'
import { runPinned } from './bootstrap/run.mjs'

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..')
const [file, ...args] = process.argv.slice(2)

try {
  if (file === undefined) throw new Refusal('Usage: node scripts/bootstrap.mjs <file> [arguments…]')
  checkMachine(process)
  await ensureInstalled(root)
  process.exitCode = await runPinned(root, file, args)
} catch (error) {
  if (!(error instanceof Refusal)) throw error
  console.error(error.message)
  process.exitCode = error.exitCode
}
