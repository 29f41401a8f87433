import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, test } from 'vitest'
import { openRepository } from './repository.ts'

test('lists the files that git tracks or would add, without ignored ones', () => {
  const root = mkdtempSync(path.join(tmpdir(), 'repository-'))
  try {
    execFileSync('git', ['init', '--quiet'], { cwd: root })
    const write = (file: string, content: string) => {
      mkdirSync(path.dirname(path.join(root, file)), { recursive: true })
      writeFileSync(path.join(root, file), content)
    }
    write('.gitignore', 'out/\n')
    write('packages/domain/out/agent.ts', `import koa from 'koa'`)
    write('packages/domain/src/agent.ts', 'tracked')
    write('README.md', 'deleted')
    execFileSync('git', ['add', '.'], { cwd: root })
    rmSync(path.join(root, 'README.md'))
    write('added.ts', 'not tracked yet')
    const { files, read } = openRepository(root)
    expect(files).toEqual(['.gitignore', 'added.ts', 'packages/domain/src/agent.ts'])
    expect(read('packages/domain/src/agent.ts')).toBe('tracked')
  } finally {
    rmSync(root, { recursive: true })
  }
})
