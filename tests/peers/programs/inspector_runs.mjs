// The command line of MCP Inspector, whose `cli` is the first argument: runs it in this process for each list of words
// on stdin, and ends the output of each with a null character.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const { runCli } = await import(pathToFileURL(process.argv[2]).href);
for (const words of JSON.parse(readFileSync(0, "utf-8"))) {
  await runCli([process.execPath, process.argv[2], ...words]);
  process.stdout.write("\0");
}
