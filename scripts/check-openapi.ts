import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import process from 'node:process'

const LIMIT_MS = 60_000

/** The committed copy of the API description, with the settings of its linters beside it. */
export const OPENAPI_COPY = 'packages/metadata/openapi.json'
const WRITER = 'packages/metadata/src/openapi/write-openapi.ts'

/** The committed API description is what the code makes. @returns what is wrong, one line each */
export function checkCopy(root: string, copy = path.join(root, OPENAPI_COPY)): string[] {
  const folder = mkdtempSync(path.join(tmpdir(), 'plainpath-openapi-'))
  try {
    const fresh = path.join(folder, 'openapi.json')
    const failed = run(process.execPath, [path.join(root, WRITER), fresh], root)
    if (failed.length > 0) return failed
    return readFileSync(fresh, 'utf8') === readFileSync(copy, 'utf8')
      ? []
      : [`${OPENAPI_COPY}: is not what the code makes; run npm run generate and commit it`]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Redocly `recommended-strict` and Spectral `oas` find nothing, not even a hint. @returns their words */
export function lintOpenapi(root: string, file = path.join(root, OPENAPI_COPY)): string[] {
  const bin = (name: string) => path.join(root, 'node_modules', '.bin', name)
  const settings = (name: string) => path.join(root, 'packages', 'metadata', name)
  return [
    ...run(bin('redocly'), ['lint', file, '--config', settings('redocly.yaml')], root),
    ...run(
      bin('spectral'),
      ['lint', file, '--ruleset', settings('.spectral.yaml'), '--fail-severity', 'hint'],
      root,
    ),
  ]
}

/** @returns what the program said, when it failed */
function run(program: string, options: readonly string[], cwd: string): string[] {
  const { status, error, stdout, stderr } = spawnSync(program, options, {
    cwd,
    encoding: 'utf8',
    env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', NO_COLOR: '1' },
    timeout: LIMIT_MS,
  })
  if (status === 0) return []
  return [error?.message ?? '', stdout, stderr]
    .join('\n')
    .split('\n')
    .filter((line) => line.trim() !== '')
}
