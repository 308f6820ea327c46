@echo off
rem Make submission.zip of what is to be handed in, and say what is missing.
cd /d "%~dp0"
python collect_submission.py %*
