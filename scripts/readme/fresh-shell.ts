import path from 'node:path'

const OURS = /^(npm_|AUTH_|RESOURCE_|TEST_|NODE|INIT_CWD$|PORT$|ORIGIN$|DATA_DIR$|LIMITS_FACTOR$|TURBO_)/

/** The environment of somebody who opens a shell: without what npm and the bootstrap have added, and no setting of ours. */
export function freshShell(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const folders = env['PATH']?.split(path.delimiter) ?? []
  const kept = Object.entries(env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && !OURS.test(entry[0]),
  )
  return {
    ...Object.fromEntries(kept),
    PATH: folders.filter((folder) => !/node_modules\/\.bin$|node-gyp-bin$/.test(folder)).join(path.delimiter),
  }
}
