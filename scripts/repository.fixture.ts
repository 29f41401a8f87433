import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { type Check, openRepository } from './repository.ts'

/** Runs a check on a repository made of these files, in a temporary folder. */
export function breachesOf(check: Check, files: Readonly<Record<string, string>>): string[] {
  const root = mkdtempSync(path.join(os.tmpdir(), 'repository-'))
  try {
    execFileSync('git', ['init', '--quiet'], { cwd: root })
    for (const [file, content] of Object.entries(files)) {
      mkdirSync(path.dirname(path.join(root, file)), { recursive: true })
      writeFileSync(path.join(root, file), content)
    }
    return check(openRepository(root))
  } finally {
    rmSync(root, { recursive: true })
  }
}
