#!/usr/bin/env node
/**
 * Runs every npm script: installs the pinned dependencies, then runs a program with the pinned Node, from the
 * root of the checkout, with the root's programs first on PATH.
 *
 *     node scripts/bootstrap.mjs <file, relative to the root> [arguments…]
 *
 * The machine's own Node runs this file and those that it imports, so they use the API of Node 20 and no dependency.
 * Its own messages go to stderr, so stdout has only the output of the program.
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
