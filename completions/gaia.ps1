# Completion of gaia and gmcp for PowerShell. Written by: gaia mcp generate

Register-ArgumentCompleter -Native -CommandName @("gaia", "gmcp") -ScriptBlock {
    param($word, $line, $cursor)
    $words = @($line.CommandElements | Where-Object { $_.Extent.EndOffset -lt $cursor } | ForEach-Object {
        if ($_ -is [System.Management.Automation.Language.StringConstantExpressionAst]) { $_.Value } else { "$_" }
    })
    $before = @($words | Select-Object -Skip 1)
    $encoding = [Console]::OutputEncoding
    try {
        # On Windows it would be that of the console, an old code page.
        [Console]::OutputEncoding = [System.Text.UTF8Encoding]::new()
        # An empty word would not arrive, so there is a dot before it.
        & $words[0] complete powershell '--' @before ('.' + $word.Trim('"', "'")) 2>$null | ForEach-Object {
            $value, $description = $_ -split "`t", 2
            $quoted = "'" + $value.Replace("'", "''") + "'"
            $typed = if ($value -match '[\s''"`$;,(){}&|<>@#]') { $quoted } else { $value }
            # The name of an argument is not shown again with each of its values.
            $listed = $value -replace '^[\w-]+:?=(?=.)'
            [System.Management.Automation.CompletionResult]::new($typed, $listed, 'ParameterValue', $description)
        }
    } finally {
        [Console]::OutputEncoding = $encoding
    }
}
